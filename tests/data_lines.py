"""Facts and made files that tests of data sets share."""

import json

CROWS = {
    "race-color": 516, "gender": 262, "socioeconomic": 172, "nationality": 159, "religion": 105,
    "age": 87, "sexual-orientation": 84, "physical-appearance": 63, "disability": 60,
}  # fmt: skip


def inter(folder, count=4):
    """Contexts with their continuations; no two contexts alike."""
    rows = []
    jobs = ("captain", "nurse", "teacher", "soldier", "judge", "farmer")
    for n in range(count):
        said = {
            "stereotype": f"She was tired of the {jobs[n]}.",
            "anti-stereotype": "He sat down at once.",
            "unrelated": "The window ran.",
        }
        rows.append(
            {
                "id": f"item{n}",
                "bias_type": ("gender", "race")[n % 2],
                "target": f"t{n % 3}",
                "context": f"The {jobs[n]} came in.",
                "sentences": [
                    {
                        "id": f"s{n}{g}",
                        "gold_label": g,
                        "sentence": s,
                        "labels": [{"label": g, "human_id": "x"}] * 5,
                    }
                    for g, s in said.items()
                ],
            }
        )
    path = folder / "dev.json"
    path.write_text(json.dumps({"version": "1.0", "data": {"intersentence": rows}}))
    return path
