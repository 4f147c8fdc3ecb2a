from ._judged import verification_parts as verification_parts
from ._viewer import VendorViewer as VendorViewer
