"""The schema's history: one file per revision in `versions/`, frozen SQL beside it in `sql/<revision>/`."""
