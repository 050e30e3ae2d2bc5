"""Flower's tab leads to the dashboard, where one is set. Source: E4."""

from __future__ import annotations

from tests.acceptance.test_gates import get, start_flower
from tests.support.site_fixtures import OpenSite


def test_flower_leads_to_the_dashboard(open_site: OpenSite) -> None:
    site = open_site()
    linked = start_flower(site, "linked", REMAND_WEB__DASHBOARD_URL="https://remand.example/")

    assert 'id="remand-dashboard" href="https://remand.example/"' in get(f"{linked}/remand").text
    alone = start_flower(site, "alone")
    assert "remand-dashboard" not in get(f"{alone}/remand").text
