from __future__ import annotations

import re
import shutil

import pytest
from fake_records import spec_of, write_experiment

from protofit.bench.figures import ALT, figure_data
from protofit.bench.markdown import NOT_YET
from protofit.bench.report import (
    TITLES,
    load,
    results_of,
    results_page,
    write_plots,
    write_tables,
)
from protofit.bench.sections import sections
from protofit.bench.trial import trials_of
from protofit.bench.version import code_version
from protofit.errors import InputError

ARMS = ["raw", "protonet", "imp", "pfit", "pfit-paper", "raw-init", "raw-snn", "pf-i", "pfit-sc"]


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    folder = tmp_path_factory.mktemp("experiment")
    specs = [
        spec_of(name="fair", sizes=[100, 500], arms=ARMS, data=["sst2", "mnli"], records="f.jsonl"),
        spec_of(name="paper", sizes=[100, 500], arms=ARMS[:5], data=["sst2", "mnli"],
                protocol="paper", records="p.jsonl"),
        spec_of(name="bge", encoder="bge-small", arms=["raw", "pfit"], sizes=[100],
                records="b.jsonl"),
        spec_of(name="sts", data=["stsb"], arms=["raw", "pfit"], sizes=[100], records="s.jsonl"),
    ]  # fmt: skip
    absent = [trial for trial in trials_of(specs[2]) if trial.arm == "pfit" and trial.seed == 4]
    paths, records = write_experiment(folder, specs, absent)
    return folder, paths, records


def test_all_tables_are_printed(written):
    _, paths, records = written
    text = write_tables(paths, records)
    for name in ("headline", "coverage", "table2_fair", "steps", "controls", "regression"):
        assert f"## {TITLES[name]}\n" in text
    assert "| bge | bge-small | fair | 6 | 3 | 30 | 3 | 0 |" in text
    assert "(4/5)" in text
    assert (
        f"version `fakefakefake` of the code. The sources here are version `{code_version()}`"
        in (text)
    )
    assert f"## {TITLES['external']}" not in text  # none planned


def test_the_first_screen_counts_outcomes_of_the_records(written):
    _, paths, records = written
    boards = load(paths, records)
    text = sections(records)["headline"](boards)
    assert text.count("\n- ") == 4  # two presets under two protocols
    counts = re.findall(r"above the best of 3 baselines in (\d) of 6 judged cells, cannot be told "
                        r"from it in (\d), and is below it in (\d)", text)  # fmt: skip
    assert [sum(map(int, found)) for found in counts] == [6, 6]
    bullet = text.split("- **PFit, `default` preset, fair")[1].splitlines()[0]
    said = re.search(r"(\d) wins?, (\d) ties?, (\d) loss", bullet)
    assert said is not None
    assert said.groups() == counts[0]
    listed = re.findall(r"(?:Wins|Ties|Loses): ([^.]*)", bullet)
    assert sum(len(re.findall(r"\b(?:100|500)\b", names)) for names in listed) == 6
    assert text.splitlines()[0].endswith("The paper has PFit ahead in 24 of 24.")
    assert "in the 6 of 6 cells that can be judged" in text
    assert "Not run as a baseline: DP-Means, ProSeNet, BSS and VIBERT" in text
    steps = sections(records)["steps_effect"](boards)
    assert "(over 6 cells, at 100 and 500 examples)" in steps
    assert "under `paper`" in steps
    assert "Raw + init − Raw: +" in sections(records)["init_effect"](boards)
    assert "over 6 cells" in sections(records)["neighbour_effect"](boards)
    assert "above 200 examples" in sections(records)["selection_effect"](boards)
    assert "(3 cells)" in sections(records)["selection_effect"](boards)


def test_nothing_recorded_is_said_and_not_guessed(written, tmp_path):
    _, paths, _ = written
    boards = load(paths, tmp_path)
    made = sections(tmp_path)
    for name in ("headline", "steps_effect", "init_effect", "selection_effect", "provenance"):
        assert made[name](boards) == NOT_YET
    assert figure_data(boards) == {}
    assert write_plots(paths, tmp_path, tmp_path / "out") == []
    assert made["state"](boards).startswith("Incomplete: 0 of 460 planned trainings (0 %)")
    assert "Not begun: fair, sts, paper and bge." in made["state"](boards)


def test_a_table_that_is_not_run_yet_is_named_beside_one_that_is(written, tmp_path):
    """Under the paper protocol single texts may be measured before pairs are."""
    _, paths, records = written
    make = sections(records)["tables_paper"]
    whole = make(load(paths, records))
    assert whole.startswith("| **MNLI-m** |")
    part = tmp_path / "part"
    part.mkdir()
    for file in records.glob("*.jsonl"):
        lines = [line for line in file.read_text().splitlines() if '"data": "sst2"' in line]
        (part / file.name).write_text("".join(f"{line}\n" for line in lines))
    text = make(load(paths, part))
    assert text.startswith("Table 1, MNLI-m and MNLI-mm: not yet run.\n\n| **SST-2** |")


def test_plots(written, tmp_path):
    pytest.importorskip("matplotlib")
    _, paths, records = written
    files = write_plots(paths, records, tmp_path)
    assert {path.name for path in files} >= {f"{name}.svg" for name in ALT}
    assert all(path.stat().st_size < 200_000 for path in files if path.suffix == ".svg")


def test_a_template_is_filled_from_the_records(written):
    _, paths, records = written
    boards = load(paths, records)
    page = results_page("A {{ paper_says }} B {{figure_ranks}}", boards, records)
    assert page.startswith("A PFit on BERT-base is best in 24 of 24 cells.")
    assert '<img alt="Critical-difference' in page
    assert "{{" not in page
    with pytest.raises(InputError, match="no placeholder 'paper_said'"):
        results_page("{{ paper_said }}", boards, records)


def checkout(written, root, template):
    folder, _, records = written
    shutil.copytree(folder / "specs", root / "benchmarks" / "specs")
    shutil.copytree(records, root / "benchmarks" / "records" / "bench")
    (root / "docs").mkdir()
    (root / "docs" / "results.template.md").write_text(template)
    return root


def test_the_page_changes_with_the_records(written, tmp_path):
    root = checkout(written, tmp_path, "{{ headline }}\n{{ coverage }}")
    page, _ = results_of(root)
    assert results_of(root)[0] == page
    file = root / "benchmarks" / "records" / "bench" / "f.jsonl"
    lines = file.read_text().splitlines(keepends=True)
    file.write_text("".join(lines[:-40]))
    assert results_of(root)[0] != page


def test_versions_are_mixed_only_where_the_template_says_so(written, tmp_path):
    root = checkout(written, tmp_path, "{{ coverage }}")
    file = root / "benchmarks" / "records" / "bench" / "f.jsonl"
    first, *rest = file.read_text().splitlines(keepends=True)
    file.write_text("".join([first.replace("fakefakefake", "otherversion"), *rest]))
    with pytest.raises(InputError, match="2 versions of the code"):
        results_of(root)
    (root / "docs" / "results.template.md").write_text("{{ versions_mixed }}")
    assert "1 of code `otherversion`" in results_of(root)[0]
