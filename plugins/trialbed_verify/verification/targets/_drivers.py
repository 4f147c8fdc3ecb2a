"""The vendor and model drivers that a target needs."""

from __future__ import annotations

from trialbed.contracts import VENDOR_CONTRACT, ModelAdapter, Vendor
from trialbed.drivers import list_drivers, load_driver
from trialbed.errors import DriverBroken

GENERIC = "generic"


def load_vendor(name: str) -> type[Vendor]:
    """The vendor driver of this name.

    Raises:
        DriverError: there is none, or it cannot be used.
    """
    loaded = load_driver("vendors", name, VENDOR_CONTRACT)
    if not (isinstance(loaded, type) and issubclass(loaded, Vendor)):
        raise DriverBroken(f"vendors: {name!r} names no subclass of trialbed.Vendor; correct the entry point")
    return loaded


def load_adapter(name: str | None, model: str) -> tuple[str, ModelAdapter]:
    """The model adapter of this name, with its name; None finds the one that recognises the model.

    Raises:
        DriverError: there is none, or it cannot be used.
    """
    if name is None:
        name = next((found for found in _others() if _adapter(found).recognises(model)), GENERIC)
    return name, _adapter(name)()


def _others() -> list[str]:
    return [driver.name for driver in list_drivers("model_adapters") if driver.name != GENERIC]


def _adapter(name: str) -> type[ModelAdapter]:
    loaded = load_driver("model_adapters", name, VENDOR_CONTRACT)
    if not (isinstance(loaded, type) and issubclass(loaded, ModelAdapter)):
        raise DriverBroken(
            f"model_adapters: {name!r} names no subclass of trialbed.ModelAdapter; correct the entry point"
        )
    return loaded
