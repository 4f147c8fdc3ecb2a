from ._judged import comparison_page as comparison_page
from ._judged import verification_parts as verification_parts
from ._viewer import VendorViewer as VendorViewer
