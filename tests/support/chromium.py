"""The browser of this machine, if it has one, driven by playwright."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager

from playwright.sync_api import Browser, Page, sync_playwright

_NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")


def path() -> str | None:
    """Return where a Chromium is; None: this machine has none."""
    return next((found for found in map(shutil.which, _NAMES) if found), None)


@contextmanager
def chromium() -> Iterator[Browser]:
    """Run one."""
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=path(), args=["--no-sandbox"])
        yield browser
        browser.close()


def sign_in(page: Page, url: str, name: str, password: str) -> None:
    """Sign in as a person would."""
    page.goto(f"{url}/login")
    page.get_by_label("Name").fill(name)
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in").click()
    page.wait_for_url(f"{url}/")
