"""Makes the requests of the conformance suite with the Python client.

One JSON object a line on standard input, {"id", "socket", "secret", "op", "params",
"until"}; one a line on standard output, {"id"} with "answer", "events" or "error".
"until" is the type of the event after which a stream is left.
"""

import json
import sys
import threading

from sandboxd import SandboxdError
from sandboxd.operations import AgentOperations, ApproverOperations

out = threading.Lock()


def serve(request):
    answer = {"id": request["id"]}
    kind = ApproverOperations if "approver" in request["socket"].rsplit("/", 1)[-1] else AgentOperations
    client = kind(request["socket"], request.get("secret") or "")
    try:
        params = request.get("params") or {}
        if request["op"] == "exec.stdin":
            params["data"] = params.get("data", "").encode()
        result = getattr(client, request["op"].replace(".", "_"))(**params)
        if isinstance(result, dict):
            answer["answer"] = result
        else:
            answer["events"] = []
            for event in result:
                answer["events"].append(event)
                if event.get("type") == request.get("until"):
                    result.close()
                    break
    except SandboxdError as e:
        answer["error"] = {"code": e.code, "status": e.status, "message": str(e)}
    except Exception as e:
        answer["error"] = {"code": "client", "status": 0, "message": repr(e)}
    with out:
        print(json.dumps(answer), flush=True)


for line in sys.stdin:
    threading.Thread(target=serve, args=(json.loads(line),), daemon=True).start()
