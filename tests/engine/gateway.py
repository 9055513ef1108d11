"""Qdrant's engine behind its REST interface, for checking the adapter.

The engine is Qdrant's own core (PyPI: qdrant-edge-py), in this process. The bodies are read by the models that Qdrant's
client publishes (PyPI: qdrant-client), which follow its OpenAPI description and refuse unknown fields. The HTTP layer in
between is this file, not Qdrant's.

    python tests/engine/gateway.py FOLDER    prints the address, serves until its standard input ends
"""

import json
import re
import sys
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import qdrant_edge as edge
from pydantic import ValidationError
from qdrant_client.http import models as rest

FOLDER = Path(sys.argv[1])
KEY = "gateway-key"
COLLECTIONS = {}
LOCK = threading.Lock()


class Missing(Exception):
    """There is no such collection."""


def condition(model):
    """A condition of a filter, as the engine takes it."""
    if isinstance(model, rest.FieldCondition):
        if isinstance(model.match, rest.MatchAny):
            return edge.FieldCondition(model.key, match=edge.MatchAny(list(model.match.any)))
        if isinstance(model.match, rest.MatchValue):
            return edge.FieldCondition(model.key, match=edge.MatchValue(model.match.value))
    if isinstance(model, rest.IsEmptyCondition):
        return edge.IsEmptyCondition(model.is_empty.key)
    if isinstance(model, rest.HasIdCondition):
        return edge.HasIdCondition(set(model.has_id))
    if isinstance(model, rest.Filter):
        return conditions(model)
    raise ValueError(f"a condition that is not used: {model!r}")


def conditions(model):
    """A filter, as the engine takes it."""
    if model is None:
        return None
    many = lambda part: [condition(one) for one in (part if isinstance(part, list) else [part])] if part else None
    return edge.Filter(must=many(model.must), should=many(model.should), must_not=many(model.must_not))


def create(name, text):
    request = rest.CreateCollection.model_validate_json(text)
    scalar = request.quantization_config.scalar
    assert request.vectors.distance == rest.Distance.COSINE and scalar.type == rest.ScalarType.INT8
    quantized = edge.ScalarQuantizationConfig(edge.ScalarType.Int8, scalar.quantile, scalar.always_ram)
    vectors = edge.EdgeVectorParams(request.vectors.size, edge.Distance.Cosine, quantization_config=quantized)
    path = FOLDER / name
    path.mkdir(parents=True)
    COLLECTIONS[name] = (edge.EdgeShard.create(str(path), edge.EdgeConfig(vectors)), request)
    return True


def describe(name, _):
    shard, request = collection(name)
    count = shard.count(edge.CountRequest(exact=True))
    params = {"vectors": {"size": request.vectors.size, "distance": request.vectors.distance.value}}
    return {"status": "green", "optimizer_status": "ok", "points_count": count, "segments_count": 1,
            "config": {"params": params}, "payload_schema": {}}


def index(name, text):
    shard, _ = collection(name)
    request = rest.CreateFieldIndex.model_validate_json(text)
    assert request.field_schema == rest.PayloadSchemaType.KEYWORD
    shard.update(edge.UpdateOperation.create_field_index(request.field_name, edge.PayloadSchemaType.Keyword))
    return {"operation_id": 1, "status": "completed"}


def upsert(name, text):
    shard, _ = collection(name)
    request = rest.PointsList.model_validate_json(text)
    points = [edge.Point(point.id, point.vector, point.payload) for point in request.points]
    shard.update(edge.UpdateOperation.upsert_points(points))
    return {"operation_id": 2, "status": "completed"}


def delete(name, text):
    shard, _ = collection(name)
    request = rest.FilterSelector.model_validate_json(text)
    shard.update(edge.UpdateOperation.delete_points_by_filter(conditions(request.filter)))
    return {"operation_id": 3, "status": "completed"}


def count(name, text):
    shard, _ = collection(name)
    request = rest.CountRequest.model_validate_json(text)
    return {"count": shard.count(edge.CountRequest(exact=request.exact, filter=conditions(request.filter)))}


def query(name, text):
    shard, _ = collection(name)
    shard.optimize()
    results = []
    for search in rest.QueryRequestBatch.model_validate_json(text).searches:
        quantization = search.params.quantization
        params = edge.SearchParams(
            exact=bool(search.params.exact),
            quantization=edge.QuantizationSearchParams(rescore=quantization.rescore) if quantization else None,
        )
        payload = search.with_payload
        found = shard.query(edge.QueryRequest(
            limit=search.limit,
            query=edge.Query.Nearest(search.query),
            filter=conditions(search.filter),
            params=params,
            with_payload=edge.PayloadSelector.Include(payload) if isinstance(payload, list) else payload,
        ))
        points = []
        for point in found:
            scored = {"id": point.id, "version": point.version, "score": point.score}
            if payload:
                scored["payload"] = point.payload
            points.append(rest.ScoredPoint.model_validate(scored).model_dump(exclude_none=True))
        results.append({"points": points})
    return results


ROUTES = {
    ("GET", ""): describe, ("PUT", ""): create, ("PUT", "/index"): index, ("PUT", "/points"): upsert,
    ("POST", "/points/delete"): delete, ("POST", "/points/count"): count, ("POST", "/points/query/batch"): query,
}


def collection(name):
    if name not in COLLECTIONS:
        raise Missing(name)
    return COLLECTIONS[name]


class Handler(BaseHTTPRequestHandler):
    """One request at a time: the engine is one shard."""

    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Nothing is logged: standard output is for the address."""

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def serve(self):
        text = self.rfile.read(int(self.headers.get("content-length", 0)))
        fail = lambda status, error: self.answer(status, {"status": {"error": error}, "time": 0.0})
        if self.headers.get("api-key") != KEY:
            return fail(401, "Invalid API key or JWT")
        found = re.fullmatch(r"/collections/([^/?]+)([^?]*)(?:\?wait=true)?", self.path)
        route = ROUTES.get((self.command, found and found[2]))
        if not route:
            return fail(404, f"no route {self.command} {self.path}")
        try:
            with LOCK:
                result = route(found[1], text)
        except Missing as error:
            return fail(404, f"Not found: Collection `{error}` doesn't exist!")
        except ValidationError as error:
            return fail(422, f"not what the schema says: {error}")
        except Exception as error:  # What the engine refuses.
            return fail(400, f"Wrong input: {error}")
        self.answer(200, {"result": result, "status": "ok", "time": 0.0})

    do_GET = do_PUT = do_POST = serve


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
threading.Thread(target=server.serve_forever, daemon=True).start()
sys.stdin.read()
