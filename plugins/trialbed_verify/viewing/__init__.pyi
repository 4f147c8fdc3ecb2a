from ._viewer import VendorViewer as VendorViewer
