"""Find the packages of the four roots; everything else is declared in setup.cfg."""

from setuptools import find_packages, setup

ROOTS = ("core", "server", "tool_selection", "plugins")
found = {name: f"{root}/{name.split('.')[0]}" for root in ROOTS for name in find_packages(root)}
setup(
    packages=list(found),
    package_dir={name: path for name, path in found.items() if "." not in name},
)
