"""Find the packages of the four roots, and take the adapters' template along; all else is declared in setup.cfg."""

from pathlib import Path
from typing import ClassVar

from setuptools import Command, find_packages, setup
from setuptools.command.build import build

ROOTS = ("core", "server", "tool_selection", "plugins")
TEMPLATE = Path("adapters", "_template")
WORKFLOWS = ".github"
MADE = {"__pycache__", "build", "dist", "results"}
"""Folders in the template that were made there, beside hidden ones and those with a suffix."""


class BuildTemplate(Command):
    """Puts the template into the package ``trialbed_adapter_lab``, as data.

    An editable install gets no copy: it finds the template in the checkout.
    """

    description = "copy the template of adapters"
    user_options: ClassVar = []
    editable_mode = False

    def initialize_options(self):
        self.build_lib = None

    def finalize_options(self):
        self.set_undefined_options("build_py", ("build_lib", "build_lib"))

    def get_source_files(self):
        files = sorted(file for file in TEMPLATE.rglob("*") if file.is_file())
        return [str(file) for file in files if not any(map(_is_made, file.parent.parts))]

    def get_output_mapping(self):
        target = Path(self.build_lib, "trialbed_adapter_lab", "template")
        return {str(target / Path(file).relative_to(TEMPLATE)): file for file in self.get_source_files()}

    def get_outputs(self):
        return list(self.get_output_mapping())

    def run(self):
        if not self.editable_mode:
            for target, source in self.get_output_mapping().items():
                self.mkpath(str(Path(target).parent))
                self.copy_file(source, target)


def _is_made(folder):
    return folder in MADE or (folder.startswith(".") and folder != WORKFLOWS) or folder.endswith(".egg-info")


build.sub_commands.append(("build_template", None))
found = {name: f"{root}/{name.split('.')[0]}" for root in ROOTS for name in find_packages(root)}
setup(
    packages=list(found),
    package_dir={name: path for name, path in found.items() if "." not in name},
    cmdclass={"build_template": BuildTemplate},
)
