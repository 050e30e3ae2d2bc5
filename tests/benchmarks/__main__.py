"""`make bench`: throughput, latency, costs and rescue, against Celery canvas and a ceiling in one run.

Arguments: `--workflows N` (default 1000), `--rescues N` (default 10), `--only PART`.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import time
from typing import Any

import psutil
from rich.console import Console
from rich.table import Table

from remand_app.telemetry import configure_logging
from tests.benchmarks import measures
from tests.benchmarks.site import SUPPORT_QUEUES, Site, open_site

SHAPES = ("chain", "diamond")
PARTS = ("throughput", "latency", "costs", "rescue", "flower")


def main() -> None:
    """Run the benchmark; the last line of standard output is its result as JSON."""
    parser = argparse.ArgumentParser(prog="python -m tests.benchmarks", description=__doc__)
    parser.add_argument("--workflows", type=int, default=1000)
    parser.add_argument("--canvas-workflows", type=int, default=1000)
    parser.add_argument("--rescues", type=int, default=10)
    parser.add_argument("--only", choices=PARTS)
    options = parser.parse_args()
    parts = (options.only,) if options.only else PARTS
    figures: dict[str, Any] = {}
    configure_logging("WARNING")
    with open_site() as site:
        if "costs" in parts:
            figures["per_workflow"] = measures.costs(site, 200)
        if "throughput" in parts or "latency" in parts:
            _against_canvas(site, figures, options, parts)
        if "rescue" in parts:
            _rescue(site, figures, options.rescues)
        if "flower" in parts:
            _flower(site, figures, options.workflows)
    _print(figures)


def _against_canvas(site: Site, figures: dict[str, Any], options: Any, parts: tuple[str, ...]) -> None:
    from tests.benchmarks import canvas

    canvas_arguments = ("worker", "-Q", "canvas", "-c", "2", "-n", "canvas@bench", "--without-mingle")
    with (
        site.worker("steps", ["steps"]) as worker,
        site.celery("canvas", *canvas_arguments, "--without-gossip", app="tests.benchmarks.canvas"),
    ):
        measures.throughput(site, "chain", 50, bulk=True)
        canvas.throughput("chain", 20)
        if "throughput" in parts:
            for shape in SHAPES:
                figures[shape] = _one_shape(site, shape, options, worker.pid)
        if "latency" in parts:
            _latency(site, figures)
        canvas.close()
    if "throughput" in parts:
        for shape in SHAPES:
            figures[shape]["ceiling"] = round(
                max(measures.ceiling(site, shape, options.workflows) for _ in range(2)), 1
            )


def _one_shape(site: Site, shape: str, options: Any, worker_pid: int) -> dict[str, float]:
    from tests.benchmarks import canvas

    workflows = options.workflows
    # Best of two, taken in turns: two cores are shared with whatever else runs.
    remand, single, peer = [], [], []
    for _ in range(2):
        remand.append(measures.throughput(site, shape, workflows, bulk=True))
        _say(f"{shape}: remand {remand[-1]:,.0f} steps/s")
        single.append(measures.throughput(site, shape, workflows, bulk=False))
        _say(f"{shape}: remand one by one {single[-1]:,.0f} steps/s")
        peer.append(canvas.throughput(shape, options.canvas_workflows // 2))
        _say(f"{shape}: canvas {peer[-1]:,.0f} steps/s")
    pids = [worker_pid, *_server_pids(site)]
    cpu = measures.cpu_us_per_step(site, shape, workflows, pids)
    return {
        "remand": round(max(remand), 1),
        "remand_single": round(max(single), 1),
        "canvas": round(max(peer), 1),
        "ceiling": 0.0,  # measured after the workers are gone
        "cpu_us_per_step": round(cpu, 1),
    }


def _latency(site: Site, figures: dict[str, Any]) -> None:
    from tests.benchmarks import canvas

    ours, theirs = [], []
    for _ in range(5):
        ours += measures.latencies(site, 40)
        theirs += canvas.latencies(20)
    figures["latency_ms"] = {
        "remand_p50": round(measures.median(ours) * 1000, 2),
        "remand_p95": round(measures.percentile(ours, 0.95) * 1000, 2),
        "canvas_p50": round(measures.median(theirs) * 1000, 2),
    }


def _rescue(site: Site, figures: dict[str, Any], times: int) -> None:
    with (
        site.worker("support", SUPPORT_QUEUES),
        site.celery("beat", "beat"),
    ):
        taken = measures.rescue_seconds(site, times)
    figures["rescue_s"] = {"p50": round(measures.median(taken), 2), "max": round(max(taken), 2)}


def _flower(site: Site, figures: dict[str, Any], workflows: int) -> None:
    """Compare workers that show their steps in Flower with workers that do not, in turns."""
    rates: dict[str, list[float]] = {"false": [], "true": []}
    for _ in range(3):
        for flower_steps, found in rates.items():
            os.environ["REMAND_FLOWER_STEPS"] = flower_steps
            with site.worker(f"flower-{flower_steps}", ["steps"]):
                measures.throughput(site, "chain", 100, bulk=True)
                found.append(measures.throughput(site, "chain", workflows, bulk=True))
                _say(f"steps in Flower {flower_steps}: {found[-1]:,.0f} steps/s")
    del os.environ["REMAND_FLOWER_STEPS"]
    off, on = (max(found) for found in rates.values())
    figures["flower_steps"] = {"off": round(off, 1), "on": round(on, 1), "ratio": round(on / off, 3)}


def _say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def _server_pids(site: Site) -> list[int]:
    mine = psutil.Process()
    return [child.pid for child in mine.children() if child.name() in ("postgres", "valkey-server")]


def _print(figures: dict[str, Any]) -> None:
    table = Table(title=f"Remand, {time.strftime('%Y-%m-%d')}", show_lines=False)
    for heading in ("what", "value", "against", "ratio"):
        table.add_column(heading)
    for shape in SHAPES:
        if shape not in figures:
            continue
        row = figures[shape]
        for name in ("remand", "remand_single"):
            table.add_row(
                f"{shape}: {name}, steps/s",
                f"{row[name]:,.0f}",
                f"canvas {row['canvas']:,.0f}",
                f"{row[name] / row['canvas']:.1f}",
            )
        table.add_row(
            f"{shape}: remand, steps/s",
            f"{row['remand']:,.0f}",
            f"ceiling {row['ceiling']:,.0f}",
            f"{row['remand'] / row['ceiling']:.2f}" if row["ceiling"] else "",
        )
        table.add_row(f"{shape}: CPU of a step, µs", f"{row['cpu_us_per_step']:.0f}", "", "")
    if "latency_ms" in figures:
        row = figures["latency_ms"]
        table.add_row(
            "chain of four alone, ms",
            f"p50 {row['remand_p50']} p95 {row['remand_p95']}",
            f"canvas p50 {row['canvas_p50']}",
            f"{row['remand_p50'] / row['canvas_p50']:.2f}",
        )
    if "per_workflow" in figures:
        row = figures["per_workflow"]
        table.add_row(
            "one happy workflow",
            f"{row['rows']} rows, {row['commits']} commits",
            f"{row['wal_kb']} KB WAL",
            "",
        )
    if "flower_steps" in figures:
        row = figures["flower_steps"]
        table.add_row(
            "chain with steps in Flower, steps/s",
            f"{row['on']:,.0f}",
            f"without {row['off']:,.0f}",
            f"{row['ratio']:.2f}",
        )
    if "rescue_s" in figures:
        row = figures["rescue_s"]
        table.add_row("rescue of a killed worker, s", f"p50 {row['p50']}", f"max {row['max']}", "")
    Console(width=110).print(table)
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
