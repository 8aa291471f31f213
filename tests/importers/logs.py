"""Logs as the tools write them, made up and small, with the fields that our readers pass over left in."""

import io
import json
import zipfile
import zlib
from typing import Any

import pyarrow as pa

Json = dict[str, Any]


def as_bytes(log: Any) -> bytes:
    return json.dumps(log).encode()


def inspect_sample(item: int | str, epoch: int = 1, **scores: Any) -> Json:
    """A sample whose scorers gave these values."""
    return {
        "id": item,
        "epoch": epoch,
        "input": f"How deep is lake {item}?",
        "target": "deep",
        "messages": [{"role": "user", "content": "..."}],
        "output": {"model": "acme/small", "choices": []},
        "scores": {name: {"value": value, "history": []} for name, value in scores.items()},
        "metadata": {},
        "events": [],
    }


def inspect_log(samples: list[Json], *, model: str = "acme/small", **fields: Any) -> Json:
    """A log in version 2 of the format."""
    return {
        "version": 2,
        "status": "success",
        "eval": {
            "run_id": "r1",
            "created": "2026-11-30T09:00:00+00:00",
            "task": "lakes",
            "model": model,
            "dataset": {"name": "lakes"},
            "config": {"epochs": 1},
        },
        "plan": {"steps": []},
        "results": {"total_samples": len(samples), "completed_samples": len(samples), "scores": []},
        "stats": {},
        "samples": samples,
    } | fields


def inspect_score(name: str, value: float, *, scorer: str | None = None, reducer: str | None = "mean") -> Json:
    """What a log states of a scorer, or of a part of its score."""
    metrics = {"accuracy": {"name": "accuracy", "value": value}, "stderr": {"name": "stderr", "value": 0.1}}
    return {"name": name, "scorer": scorer or name, "reducer": reducer, "params": {}, "metrics": metrics}


def archived(log: Json, *, method: int = zipfile.ZIP_DEFLATED, in_pieces: bool = False) -> bytes:
    """The same log as an .eval archive."""
    members = {f"samples/{one['id']}_epoch_{one['epoch']}": one for one in log["samples"]}
    header = {name: value for name, value in log.items() if name not in ("samples", "reductions")}
    files = {f"{name}/sample.json" if in_pieces else f"{name}.json": one for name, one in members.items()}
    if in_pieces:
        files |= {f"{name}/events/0.json": [] for name in members}
    files["_journal/start.json"] = {name: header[name] for name in ("version", "eval", "plan")}
    files["summaries.json"] = []
    if log.get("reductions"):
        files["reductions.json"] = log["reductions"]
    return zipped({name: as_bytes(one) for name, one in (files | {"header.json": header}).items()}, method=method)


def zipped(files: dict[str, bytes], *, method: int = zipfile.ZIP_DEFLATED) -> bytes:
    """An archive of these files; zstandard, which Python's own zipfile learnt late, is written by hand."""
    if method == 93:
        return _zstandard(files)
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w", method) as archive:
        for name, data in files.items():
            archive.writestr(name, data)
    return buffer.getvalue()


def _zstandard(files: dict[str, bytes]) -> bytes:
    """Members are stored packed, and then every header is made to say what they are."""
    packed = {name: pa.compress(data, codec="zstd", asbytes=True) for name, data in files.items()}
    archive = bytearray(zipped(packed, method=zipfile.ZIP_STORED))
    with zipfile.ZipFile(io.BytesIO(bytes(archive))) as found:
        members = found.infolist()
        place = found.start_dir
    for member in members:
        data = files[member.filename]
        _describe(archive, member.header_offset, 8, data)
        _describe(archive, place, 10, data)
        place += 46 + len(member.filename.encode()) + len(member.extra) + len(member.comment)
    return bytes(archive)


def _describe(archive: bytearray, header: int, method: int, data: bytes) -> None:
    """The method stands at that offset of a header; six bytes on the checksum, and eight on from it the size."""
    archive[header + method : header + method + 2] = (93).to_bytes(2, "little")
    archive[header + method + 6 : header + method + 10] = zlib.crc32(data).to_bytes(4, "little")
    archive[header + method + 14 : header + method + 18] = len(data).to_bytes(4, "little")


def ragchecker_result(query: str, said: list[str], wanted: list[str], **fields: Any) -> Json:
    """A result whose response and answer claims were labelled so, against the answer and the response."""
    return {
        "query_id": query,
        "query": "Which lake is the deepest?",
        "gt_answer": "The deepest is the one in the north.",
        "response": "The northern one.",
        "retrieved_context": [{"doc_id": "a", "text": "The northern lake is deep."}],
        "response_claims": [["lake", "is", str(n)] for n in range(len(said))],
        "gt_answer_claims": [["lake", "is", str(n)] for n in range(len(wanted))],
        "answer2response": said,
        "response2answer": wanted,
        "retrieved2response": [["Entailment", "Neutral"] for _ in said],
        "retrieved2answer": [["Neutral", "Contradiction"] for _ in wanted],
        "metrics": {"precision": 0.5},
    } | fields


def ragchecker_log(results: list[Json], **overall: float) -> Json:
    return {"results": results, "metrics": {"overall_metrics": overall, "retriever_metrics": {}}}


def deepeval_case(name: str, order: int, text: str, metrics: dict[str, float | None], **fields: Any) -> Json:
    """A test case of a saved run; a metric without a score failed to run."""
    return {
        "name": name,
        "order": order,
        "input": text,
        "actualOutput": "deep",
        "success": all(score is not None and score >= 0.5 for score in metrics.values()),
        "metricsData": [
            {"name": metric, "threshold": 0.5, "success": False, "error": "the judge timed out"}
            if score is None
            else {"name": metric, "threshold": 0.5, "success": score >= 0.5, "score": score, "reason": "..."}
            for metric, score in metrics.items()
        ],
        "runDuration": 1.5,
    } | fields


def deepeval_run(cases: list[Json], **fields: Any) -> Json:
    return {"testCases": cases, "conversationalTestCases": [], "metricsScores": [], "runDuration": 3.0} | fields


def promptfoo_result(test: int, prompt: int, *, success: bool, **fields: Any) -> Json:
    """A result of version 3."""
    return {
        "id": f"r{test}-{prompt}",
        "testIdx": test,
        "promptIdx": prompt,
        "promptId": f"p{prompt}",
        "provider": {"id": f"acme:model-{prompt}", "label": ""},
        "prompt": {"raw": "How deep?", "label": "How deep is {{lake}}?"},
        "vars": {"lake": f"lake {test}"},
        "testCase": {"vars": {"lake": f"lake {test}"}, "assert": [{"type": "contains", "value": "deep"}]},
        "response": {"output": "deep"},
        "success": success,
        "score": 1 if success else 0,
        "failureReason": 0 if success else 1,
        "error": None if success else "Expected output to contain deep",
        "gradingResult": {"pass": success, "score": 1 if success else 0, "reason": "...", "componentResults": []},
        "namedScores": {},
        "latencyMs": 12,
    } | fields


def promptfoo_log(results: list[Json], prompts: int = 1, **metrics: float) -> Json:
    """What `promptfoo eval --output` writes."""
    heads = [
        {"provider": f"acme:model-{n}", "raw": "How deep is {{lake}}?", "label": "How deep is {{lake}}?"}
        | ({"metrics": metrics} if metrics else {})
        for n in range(prompts)
    ]
    summary = {"version": 3, "timestamp": "2026-11-30T09:00:00Z", "prompts": heads, "results": results, "stats": {}}
    return {"evalId": "e1", "results": summary, "config": {}, "shareableUrl": None}
