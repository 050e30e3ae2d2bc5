from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from uuid import UUID

import httpx
import pytest
from playwright.sync_api import Browser, Page, Request, Route, expect

from remand import PermanentError
from remand_app.store.database import Database
from tests.support import chromium
from tests.support.databases import Cluster
from tests.support.demo_site import PASSWORD, Served, seed
from tests.support.engine import Harness, settings_for
from tests.support.invariants import check_invariants
from tests.support.shapes import always, shape
from tests.support.waiting import eventually

pytestmark = [
    pytest.mark.once,
    pytest.mark.skipif(
        chromium.path() is None,
        reason="no Chromium on this machine (Debian, Ubuntu: apt-get install chromium)",
    ),
]

SOON = 15_000
WIDE, PHONE = {"width": 1280, "height": 800}, {"width": 390, "height": 844}
PAGES = (
    "/", "/dlq", "/dlq/letters", "/dlq/triage", "/redrives", "/workflows", "/queues", "/workers", "/sweeps",
    "/staleness", "/breakers", "/archive", "/templates", "/templates/shop/order/1", "/redrives/{redrive}",
    "/audit",
    "/workflows/{workflow}?step=charge-card",
)  # fmt: skip
# Text against what is painted behind it, by the formula of WCAG; large text needs less.
CONTRAST = """() => {
  const parse = (text) => { const [r, g, b, a = 1] = text.match(/[\\d.]+/g).map(Number);
    return [r, g, b, a]; };
  const light = ([r, g, b]) => { const [x, y, z] = [r, g, b].map((v) => { v /= 255;
    return v <= 0.04045 ? v / 12.92 : ((v + 0.055) / 1.055) ** 2.4; });
    return 0.2126 * x + 0.7152 * y + 0.0722 * z; };
  const behind = (one) => { const box = one.closest(".node")?.querySelector("rect");
    if (box) return parse(getComputedStyle(box).fill);
    for (let at = one; at; at = at.parentElement) {
      const found = parse(getComputedStyle(at).backgroundColor); if (found[3] > 0.99) return found; }
    return [255, 255, 255, 1]; };
  const poor = [];
  const walk = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
  while (walk.nextNode()) {
    const one = walk.currentNode.parentElement;
    if (!walk.currentNode.data.trim() || !one.checkVisibility()) continue;
    if (one.closest("title, script, .skip")) continue;
    const style = getComputedStyle(one);
    const ink = parse(one instanceof SVGElement ? style.fill : style.color);
    const [a, b] = [light(ink), light(behind(one))].sort((x, y) => y - x);
    const size = parseFloat(style.fontSize);
    const needed = size >= 24 || (size >= 18.66 && style.fontWeight >= 700) ? 3 : 4.5;
    const ratio = (a + 0.05) / (b + 0.05);
    if (ratio < needed) poor.push(`${ratio.toFixed(2)}: ${walk.currentNode.data.trim().slice(0, 40)}`);
  }
  return poor;
}"""
# What a screen reader would stumble over.
UNNAMED = """() => {
  const wrong = [];
  const say = (what, one) => wrong.push(`${what}: ${one.outerHTML.slice(0, 120)}`);
  for (const one of document.querySelectorAll("input:not([type=hidden]), select, textarea"))
    if (!one.labels?.length && !one.ariaLabel) say("no label", one);
  for (const one of document.querySelectorAll("a, button, summary"))
    if (!one.textContent.trim() && !one.getAttribute("aria-label")) say("no name", one);
  for (const one of document.querySelectorAll("svg[role=img]"))
    if (!one.getAttribute("aria-label")) say("no name", one);
  for (const one of document.querySelectorAll("[tabindex]")) if (one.tabIndex > 0) say("tab order", one);
  for (const one of document.querySelectorAll("time"))
    if (!one.dateTime || !one.title) say("no instant", one);
  const ids = [...document.querySelectorAll("[id]")].map((one) => one.id);
  ids.filter((id, at) => ids.indexOf(id) !== at).forEach((id) => wrong.push(`twice: #${id}`));
  if (document.querySelectorAll("h1").length !== 1) wrong.push("not one h1");
  if (document.querySelectorAll("main").length !== 1) wrong.push("not one main");
  if (!document.documentElement.lang || !document.title) wrong.push("no language or title");
  return wrong;
}"""


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with chromium.chromium() as running:
        yield running


@dataclass
class Shop:
    """The demo site behind its server, a workflow that stands at a dead step, a redrive that is planned."""

    url: str
    harness: Harness
    workflow: UUID
    redrive: UUID


@pytest.fixture(scope="module")
def shop(cluster: Cluster) -> Iterator[Shop]:
    with cluster.fresh() as url:
        database = Database(url)
        harness = Harness(database)
        seeded = seed(harness, orders=6)
        with Served(settings_for(database_url=url, broker_url="redis://127.0.0.1:1/0"), harness) as served:
            yield Shop(served.url, harness, *seeded)
        check_invariants(database)
        database.dispose()


@dataclass
class Watched:
    """What a page complained about and whom it asked."""

    complaints: list[str] = field(default_factory=list)
    abroad: list[str] = field(default_factory=list)


@pytest.fixture
def watched() -> Watched:
    return Watched()


@pytest.fixture
def page(browser: Browser, shop: Shop, watched: Watched) -> Iterator[Page]:
    """A page that nothing may complain on and that may ask nobody but the server."""
    context = browser.new_context(viewport=WIDE)
    made = context.new_page()

    def guard(route: Route, request: Request) -> None:
        if request.url.startswith((shop.url, "data:")):
            route.continue_()
        else:
            watched.abroad.append(request.url)
            route.abort()

    # Events of a page are one long answer, which must not go through a route.
    context.route(lambda url: not url.endswith("/live"), guard)
    made.on("console", lambda one: watched.complaints.append(one.text) if one.type in _BAD else None)
    made.on("pageerror", lambda one: watched.complaints.append(str(one)))
    yield made
    context.close()
    assert watched.complaints == []
    assert watched.abroad == []


_BAD = ("error", "warning")


def test_an_operator_finds_a_dead_step_and_sends_it_back(page: Page, shop: Shop) -> None:
    chromium.sign_in(page, shop.url, "operator", PASSWORD)
    expect(page.get_by_role("heading", name="Overview")).to_be_visible()
    page.get_by_role("navigation", name="Main").get_by_role("link", name="Workflows").click()
    page.get_by_label("State").select_option("blocked_by_failures")
    page.get_by_label("Template").fill("shop/order")
    page.get_by_role("button", name="Show").click()
    assert "state=blocked_by_failures" in page.url
    link = page.locator("tbody a").first
    found = UUID(str(link.get_attribute("href")).rpartition("/")[2])
    link.click()
    page.get_by_role("link", name="charge-card: error").click()
    act = page.locator("#step details.act", has=page.get_by_text("Retry", exact=True)).first
    act.locator("summary").click()
    act.get_by_role("button", name="Show what would happen").click()
    expect(act.locator(".shown")).to_contain_text("Runs again: charge-card", timeout=SOON)
    assert shop.harness.states(found)["charge-card"] == "error", "a preview changed something"
    act.get_by_role("button", name="Retry", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("runs again")
    assert shop.harness.states(found)["charge-card"] == "enqueued"


def test_a_page_shows_what_changes_without_being_loaded_again(page: Page, shop: Shop) -> None:
    chromium.sign_in(page, shop.url, "viewer", PASSWORD)
    tile = page.locator("a.tile", has_text="steps ready").locator("b")
    before = int(tile.inner_text())
    for more in (1, 2, 3):
        shop.harness.submit("media/resize", {"scan": "new"})
        expect(tile).to_have_text(str(before + more), timeout=SOON)


def test_a_page_shows_what_changed_between_its_making_and_its_listening(page: Page, shop: Shop) -> None:
    def change_first(route: Route) -> None:
        shop.harness.submit("media/resize", {"scan": "new"})
        route.continue_()

    chromium.sign_in(page, shop.url, "viewer", PASSWORD)
    tile = page.locator("a.tile", has_text="steps ready").locator("b")
    before = int(tile.inner_text())
    page.route("**/live?*", change_first, times=1)
    page.reload()

    expect(tile).to_have_text(str(before + 1), timeout=SOON)


def test_who_listens_again_is_told_what_changed_meanwhile(page: Page, shop: Shop) -> None:
    chromium.sign_in(page, shop.url, "viewer", PASSWORD)
    cookies = {one["name"]: one["value"] for one in page.context.cookies()}

    def heard(seen: str) -> dict[str, str]:
        """What is said at once: the mark of now, and whether it is another one."""
        with httpx.stream(
            "GET", f"{shop.url}/live", cookies=cookies, headers={"Last-Event-ID": seen}
        ) as answer:
            lines = answer.iter_lines()
            mark = next(one for one in lines if one.startswith("id: ")).removeprefix("id: ")
            return {"mark": mark, "next": next(one for one in lines if one)}

    first = heard("none")
    assert first["next"] == "event: changed"
    shop.harness.submit("media/resize", {"scan": "new"})
    again = eventually(
        lambda: one if (one := heard(first["mark"]))["mark"] != first["mark"] else None, timeout=15
    )
    assert again["next"] == "event: changed"


def test_who_was_signed_out_is_led_to_sign_in(page: Page, shop: Shop) -> None:
    with page.expect_response("**/live?*"):
        chromium.sign_in(page, shop.url, "viewer", PASSWORD)
    page.context.clear_cookies()
    shop.harness.submit("media/resize", {"scan": "new"})
    expect(page.get_by_role("button", name="Sign in")).to_be_visible(timeout=SOON)


def test_a_viewer_is_offered_nothing_that_is_refused(page: Page, shop: Shop) -> None:
    chromium.sign_in(page, shop.url, "viewer", PASSWORD)
    for path in sorted({*PAGES} - {"/audit"}):
        page.goto(shop.url + path.format(workflow=shop.workflow, redrive=shop.redrive))
        assert page.locator("form[method=post]:not([action='/logout'])").count() == 0, path


def test_keys_lead_through_a_list(page: Page, shop: Shop) -> None:
    chromium.sign_in(page, shop.url, "viewer", PASSWORD)
    page.goto(f"{shop.url}/dlq/letters")
    page.keyboard.press("j")
    page.keyboard.press("j")
    chosen = page.locator("tr[aria-selected=true]")
    expect(chosen).to_have_count(1)
    second = page.locator("tbody tr").nth(1).get_attribute("data-item")
    assert chosen.get_attribute("data-item") == second
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/dlq/letters/{second}")
    page.keyboard.press("/")
    assert page.evaluate("document.activeElement.id") == "search"
    page.keyboard.type(str(shop.workflow))
    page.keyboard.press("Enter")
    page.wait_for_url(f"**/workflows/{shop.workflow}")


def test_the_first_tab_skips_to_the_content(page: Page, shop: Shop) -> None:
    chromium.sign_in(page, shop.url, "viewer", PASSWORD)
    page.goto(f"{shop.url}/workflows")
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.className") == "skip"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.closest('#main') !== null")


def test_a_theme_that_was_chosen_stays(page: Page, shop: Shop) -> None:
    page.emulate_media(color_scheme="light")
    chromium.sign_in(page, shop.url, "viewer", PASSWORD)
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Light or dark").click()
    dark = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.goto(f"{shop.url}/queues")
    assert light != dark == page.evaluate("getComputedStyle(document.body).backgroundColor")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_every_page_can_be_read_by_everybody(page: Page, shop: Shop, scheme: str) -> None:
    page.emulate_media(color_scheme=scheme, reduced_motion="reduce")  # type: ignore[arg-type]
    chromium.sign_in(page, shop.url, "admin", PASSWORD)
    for path in PAGES:
        page.goto(shop.url + path.format(workflow=shop.workflow, redrive=shop.redrive))
        page.evaluate("document.querySelectorAll('details').forEach((one) => one.open = true)")
        assert page.evaluate(CONTRAST) == [], path
        assert page.evaluate(UNNAMED) == [], path


def test_a_phone_shows_every_page_without_moving_sideways(page: Page, shop: Shop) -> None:
    chromium.sign_in(page, shop.url, "admin", PASSWORD)
    page.set_viewport_size(PHONE)
    for path in PAGES:
        page.goto(shop.url + path.format(workflow=shop.workflow, redrive=shop.redrive))
        assert page.evaluate("document.documentElement.scrollWidth") <= PHONE["width"], path


def test_pages_can_be_read_without_javascript(browser: Browser, shop: Shop) -> None:
    context = browser.new_context(java_script_enabled=False)
    page = context.new_page()
    chromium.sign_in(page, shop.url, "operator", PASSWORD)
    page.goto(f"{shop.url}/workflows/{shop.workflow}?step=charge-card")
    expect(page.locator("#step")).to_contain_text("account closed")
    expect(page.locator("svg .node")).to_have_count(7)
    context.close()


@pytest.mark.parametrize("width", [390, 1280])
def test_long_names_move_no_page_sideways_and_hide_no_column(page: Page, shop: Shop, width: int) -> None:
    name = "n" * 31 + "-" + "m" * 31
    shop.harness.publish(
        shape(
            name,
            {"s" * 60: ()},
            namespace="l" * 63,
            each={"s" * 60: {"queue": "wide", "dependency": "d" * 60}},
        )
    )
    shop.harness.play(**{"s" * 60: always(PermanentError("ü" * 100))})
    made = shop.harness.submit(f"{'l' * 63}/{name}")
    shop.harness.run_until_quiet()
    group = shop.harness.open_letter(made).group_id
    chromium.sign_in(page, shop.url, "admin", PASSWORD)
    page.set_viewport_size({"width": width, "height": 844})
    for path in (*PAGES, f"/workflows/{made}", f"/dlq/groups/{group}"):
        page.goto(shop.url + path.format(workflow=shop.workflow, redrive=shop.redrive))
        shown = page.evaluate("[document.documentElement.scrollWidth, document.documentElement.clientWidth]")
        assert shown[0] <= shown[1], path
        hidden = page.evaluate(
            "[...document.querySelectorAll('.panel td, svg.sparkline')].filter((one) => {"
            " const box = one.getBoundingClientRect();"
            " const card = one.closest('.panel, .tile, .group');"
            " return box.width && box.right > card.getBoundingClientRect().right + 1; }).length"
        )
        assert hidden == 0, path
