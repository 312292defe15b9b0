"""``python -m tests.campaign [NAME ...] [--long] [--seed N] [--share X] [--processes N] [--again]``."""

from __future__ import annotations

import argparse
import os
import sys
from functools import partial
from pathlib import Path

from lacunary.files.whole import write_whole
from tests.campaign import calibration, determinism, exactness, faults, fuzz, kills, mutants
from tests.campaign.run import page, run

ALL = {
    campaign.name: campaign
    for campaign in (
        exactness.CAMPAIGN,
        calibration.CAMPAIGN,
        fuzz.CAMPAIGN,
        faults.CAMPAIGN,
        determinism.CAMPAIGN,
        kills.CAMPAIGN,
        mutants.CAMPAIGN,
    )
}


def main() -> int:
    """Run the campaigns that are named, or all; return 1 if one of them failed."""
    parser = argparse.ArgumentParser(prog="python -m tests.campaign", description=__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=", ".join(ALL))
    parser.add_argument("--long", action="store_true", help="the long run: hours")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--share", type=float, default=1.0, help="of the pieces")
    parser.add_argument("--processes", type=int, default=min(os.cpu_count() or 1, 4), help="at once")
    parser.add_argument(
        "--out", type=Path, default=Path(".campaign"), help="where states and the page are kept"
    )
    parser.add_argument("--again", action="store_true", help="from the beginning, not where it stopped")
    asked = parser.parse_args()
    unknown = set(asked.names) - set(ALL)
    if unknown:
        parser.error(f"there is no campaign {min(unknown)}; there are {', '.join(ALL)}")
    asked.out.mkdir(parents=True, exist_ok=True)
    ran = {}
    for name in asked.names or ALL:
        campaign = ALL[name]
        if asked.again:
            (asked.out / f"{name}.json").unlink(missing_ok=True)
        pieces = max(round(asked.share * campaign.pieces[asked.long]), 1)
        say = partial(print, flush=True)
        ran[name] = campaign, run(campaign, asked.out, asked.seed, pieces, say, asked.processes)
        write_whole(asked.out / "campaign.md", page(ran, asked.long))
    failed = [
        name for name, (campaign, state) in ran.items() if state.failures or campaign.judge(state.values)[0]
    ]
    print(f"the page is {asked.out / 'campaign.md'}")
    print(f"failed: {', '.join(failed)}" if failed else "all is well")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
