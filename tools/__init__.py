"""What the project is kept with, none of which is installed."""
