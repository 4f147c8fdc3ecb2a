from .app import create_app as create_app
from .report import run_report as run_report
