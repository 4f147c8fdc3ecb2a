"""Cannot be imported."""

raise RuntimeError("the flux capacitor is missing")
