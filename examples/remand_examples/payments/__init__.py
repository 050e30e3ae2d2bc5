"""An order is checked, reserved, screened, charged over HTTP and confirmed; the gateway is a process."""
