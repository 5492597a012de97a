package clients

import (
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
)

// R-IP-06: the clients have every operation and every type of the protocol.
// UPDATE=1 rewrites the files.
func TestGenerated(t *testing.T) {
	s := readSpec(t)
	if len(s.operations) < 30 || len(s.types) < 40 {
		t.Fatalf("%d operations and %d types were read", len(s.operations), len(s.types))
	}
	for name, want := range map[string]string{
		"python/src/sandboxd/wire.py":       pythonTypes(s),
		"python/src/sandboxd/operations.py": pythonOperations(s),
		"typescript/src/wire.ts":            typescriptTypes(s),
		"typescript/src/operations.ts":      typescriptOperations(s),
	} {
		if os.Getenv("UPDATE") != "" {
			if err := os.WriteFile(name, []byte(want), 0o644); err != nil {
				t.Fatal(err)
			}
		}
		if got, err := os.ReadFile(name); err != nil || string(got) != want {
			t.Errorf("%s is not what docs/openapi.yaml says (%v); run UPDATE=1 go test ./clients and look at the difference",
				name, err)
		}
	}
}

// writer collects lines.
type writer struct{ strings.Builder }

func (w *writer) line(format string, args ...any) { fmt.Fprintf(w, format+"\n", args...) }

// oneLine is a description that fits a comment.
func oneLine(s string) string {
	return strings.NewReplacer("*/", "* /", `"""`, `"`, `\`, `\\`).Replace(strings.Join(strings.Fields(s), " "))
}

var pythonKeywords = []string{"from", "class", "def", "import", "global", "pass", "in", "is", "not", "or", "and",
	"with", "as", "if", "else", "for", "while", "try"}

func pythonTypes(s spec) string {
	w := &writer{}
	w.line(`"""The objects on the wire, as docs/openapi.yaml has them. Times are RFC 3339 text.`)
	w.line("")
	w.line(`Written by TestGenerated in clients/. Do not edit."""`)
	w.line("")
	w.line("from __future__ import annotations")
	w.line("")
	w.line("from typing import Any, Dict, List, TypedDict")
	for _, o := range s.types {
		if slices.ContainsFunc(o.Fields, func(f field) bool { return slices.Contains(pythonKeywords, f.Name) }) {
			w.line("\n%s = TypedDict(\n    %q,\n    {", o.Name, o.Name)
			for _, f := range o.Fields {
				w.line("        %q: %q,%s", f.Name, pythonKind(f.Kind), pythonComment(f))
			}
			w.line("    },\n    total=False,\n)")
			continue
		}
		w.line("\n\nclass %s(TypedDict, total=False):", o.Name)
		w.line(`    """%s"""`, oneLine(orName(o)))
		w.line("")
		for _, f := range o.Fields {
			w.line("    %s: %s%s", f.Name, pythonKind(f.Kind), pythonComment(f))
		}
	}
	return w.String()
}

func orName(o object) string {
	if o.About == "" {
		return o.Name + "."
	}
	return o.About
}

func pythonComment(f field) string {
	about := f.About
	if f.Kind.Bytes {
		about = strings.TrimSpace("base64; " + about)
	}
	if about == "" {
		return ""
	}
	return "  # " + strings.TrimSuffix(oneLine(about), "; ")
}

func pythonKind(k schema) string {
	switch k.Type {
	case "string":
		return "str"
	case "integer":
		return "int"
	case "boolean":
		return "bool"
	case "array":
		return "List[" + pythonKind(*k.Items) + "]"
	case "object":
		if k.Items != nil {
			return "Dict[str, " + pythonKind(*k.Items) + "]"
		}
		return "Dict[str, Any]"
	case "":
		return "Any"
	}
	return k.Type
}

// shared, of the agent alone, of the approver alone.
func (s spec) bySocket() (shared, agent, approver []operation) {
	for _, o := range s.operations {
		switch {
		case o.Out == "": // not a request with an answer
		case o.Agent && o.Approver:
			shared = append(shared, o)
		case o.Agent:
			agent = append(agent, o)
		case o.Approver:
			approver = append(approver, o)
		}
	}
	return
}

func pythonOperations(s spec) string {
	w := &writer{}
	shared, agent, approver := s.bySocket()
	w.line(`"""One method for each operation of the protocol, as docs/openapi.yaml has them.`)
	w.line("")
	w.line(`Written by TestGenerated in clients/. Do not edit."""`)
	w.line("")
	w.line("from __future__ import annotations")
	w.line("")
	w.line("from typing import Any, Dict, Iterator, List, Optional")
	w.line("")
	w.line("from . import wire")
	w.line("from .transport import Body, Transport")
	class := func(name, base, about string, list []operation) {
		w.line("\n\nclass %s(%s):", name, base)
		w.line(`    """%s"""`, about)
		for _, o := range list {
			pythonOperation(w, s, o)
		}
	}
	class("SharedOperations", "Transport", "What both sockets offer.", shared)
	class("AgentOperations", "SharedOperations", "What agent.sock offers.", agent)
	class("ApproverOperations", "SharedOperations", "What approver.sock offers.", approver)
	return w.String()
}

func pythonOperation(w *writer, s spec, o operation) {
	w.line("")
	w.line("    def %s(", strings.ReplaceAll(o.Name, ".", "_"))
	w.line("        self,")
	w.line("        *,")
	none := true
	for _, p := range o.InPath {
		w.line("        %s: str,", p)
		none = false
	}
	if o.Raw {
		w.line("        data: Body = b\"\",")
		none = false
	}
	body := s.object(o.Body).Fields
	for _, required := range []bool{true, false} {
		for _, f := range slices.Concat(o.Query, body) {
			if f.Required != required {
				continue
			}
			none = false
			kind := pythonKind(f.Kind)
			if !isPlain(f.Kind) {
				kind = strings.ReplaceAll(kind, f.Kind.Type, "wire."+f.Kind.Type)
				if f.Kind.Items != nil && !isPlain(*f.Kind.Items) {
					kind = strings.ReplaceAll(pythonKind(f.Kind), f.Kind.Items.Type, "wire."+f.Kind.Items.Type)
				}
			}
			if required {
				w.line("        %s: %s,", f.Name, kind)
			} else {
				w.line("        %s: Optional[%s] = None,", f.Name, kind)
			}
		}
	}
	text := w.String()
	if none {
		w.Reset()
		w.WriteString(strings.TrimSuffix(text, "        *,\n"))
	}
	out := "wire." + o.Out
	if o.Stream != "" {
		out = "Iterator[wire." + o.Out + "]"
	}
	w.line("    ) -> %s:", out)
	w.line(`        """%s: %s %s"""`, oneLine(o.About), o.Method, o.Path)
	path := fmt.Sprintf("%q", o.Path)
	for _, p := range o.InPath {
		path = strings.Replace(path, "{"+p+"}", `" + self.quote(`+p+`) + "`, 1)
	}
	path = strings.ReplaceAll(path, ` + ""`, "")
	call := []string{fmt.Sprintf("%q", o.Method), path}
	if len(o.Query) > 0 {
		call = append(call, "query="+pythonDict(o.Query))
	}
	switch {
	case o.Raw:
		call = append(call, "raw=data")
	case o.Body != "":
		call = append(call, "body="+pythonDict(body))
	}
	if o.Key {
		call = append(call, "key=idempotency_key")
	}
	f := map[string]string{"": "ask", "ndjson": "lines", "sse": "server_sent"}[o.Stream]
	w.line("        answer: %s = self.%s(", out, f)
	for _, a := range call {
		w.line("            %s,", a)
	}
	w.line("        )")
	w.line("        return answer")
}

func pythonDict(list []field) string {
	var parts []string
	for _, f := range list {
		parts = append(parts, fmt.Sprintf("%q: %s", f.Name, f.Name))
	}
	return "{" + strings.Join(parts, ", ") + "}"
}

// isPlain reports a type that is none of the wire's objects.
func isPlain(k schema) bool {
	switch k.Type {
	case "string", "integer", "boolean", "":
		return true
	case "object", "array":
		return k.Items == nil || isPlain(*k.Items)
	}
	return false
}

func typescriptTypes(s spec) string {
	w := &writer{}
	w.line("// The objects on the wire, as docs/openapi.yaml has them. Times are RFC 3339 text.")
	w.line("// Written by TestGenerated in clients/. Do not edit.")
	for _, o := range s.types {
		w.line("\n/** %s */", oneLine(orName(o)))
		w.line("export interface %s {", o.Name)
		for _, f := range o.Fields {
			about := f.About
			if f.Kind.Bytes {
				about = strings.TrimSuffix("base64; "+about, "; ")
			}
			if about != "" {
				w.line("  /** %s */", oneLine(about))
			}
			optional := "?"
			if f.Required {
				optional = ""
			}
			w.line("  %s%s: %s;", f.Name, optional, typescriptKind(f.Kind))
		}
		w.line("}")
	}
	return w.String()
}

func typescriptKind(k schema) string {
	switch k.Type {
	case "integer":
		return "number"
	case "array":
		return typescriptKind(*k.Items) + "[]"
	case "object":
		if k.Items != nil {
			return "Record<string, " + typescriptKind(*k.Items) + ">"
		}
		return "Record<string, unknown>"
	case "":
		return "unknown"
	}
	return k.Type
}

func typescriptOperations(s spec) string {
	w := &writer{}
	shared, agent, approver := s.bySocket()
	w.line("// One method for each operation of the protocol, as docs/openapi.yaml has them.")
	w.line("// Written by TestGenerated in clients/. Do not edit.")
	w.line("")
	w.line(`import { Transport, without, type CallOptions } from "./transport.ts";`)
	w.line(`import type * as wire from "./wire.ts";`)
	class := func(name, base, about string, list []operation) {
		w.line("\n/** %s */", about)
		w.line("export class %s extends %s {", name, base)
		for i, o := range list {
			if i > 0 {
				w.line("")
			}
			typescriptOperation(w, o)
		}
		w.line("}")
	}
	class("SharedOperations", "Transport", "What both sockets offer.", shared)
	class("AgentOperations", "SharedOperations", "What agent.sock offers.", agent)
	class("ApproverOperations", "SharedOperations", "What approver.sock offers.", approver)
	return w.String()
}

func typescriptOperation(w *writer, o operation) {
	var params []string
	for _, p := range o.InPath {
		params = append(params, p+": string")
	}
	optional := true
	for _, f := range o.Query {
		mark := "?"
		if f.Required {
			mark = ""
			optional = false
		}
		params = append(params, f.Name+mark+": "+typescriptKind(f.Kind))
	}
	optional = optional && len(o.InPath) == 0
	if o.Raw {
		params = append(params, "data?: Uint8Array | string | AsyncIterable<Uint8Array | string>")
	}
	request := ""
	if len(params) > 0 {
		request = "{ " + strings.Join(params, "; ") + " }"
	}
	if o.Body != "" {
		if request != "" {
			request += " & "
		}
		request += "wire." + o.Body
	}
	args := "options: CallOptions = {}"
	if request != "" {
		initial := ""
		if optional {
			initial = " = {}"
			if o.Body != "" && !strings.HasPrefix(request, "{") && o.Body == "Answer" {
				initial = ""
			}
		}
		args = "request: " + request + initial + ", " + args
	}
	out := "Promise<wire." + o.Out + ">"
	if o.Stream != "" {
		out = "AsyncGenerator<wire." + o.Out + ", void, void>"
	}
	path := "`" + o.Path + "`"
	for _, p := range o.InPath {
		path = strings.Replace(path, "{"+p+"}", "${encodeURIComponent(request."+p+")}", 1)
	}
	if len(o.InPath) == 0 {
		path = fmt.Sprintf("%q", o.Path)
	}
	w.line("  /** %s: %s %s */", oneLine(o.About), o.Method, o.Path)
	w.line("  %s(%s): %s {", camel(o.Name), args, out)
	var parts []string
	if len(o.Query) > 0 {
		var q []string
		for _, f := range o.Query {
			q = append(q, f.Name+": request."+f.Name)
		}
		parts = append(parts, "query: { "+strings.Join(q, ", ")+" }")
	}
	switch {
	case o.Raw:
		parts = append(parts, "raw: request.data ?? \"\"")
	case o.Body != "" && len(o.InPath) > 0:
		parts = append(parts, fmt.Sprintf("body: without(request, %q)", o.InPath[0]))
	case o.Body != "":
		parts = append(parts, "body: request")
	}
	if o.Key {
		parts = append(parts, "key: request.idempotency_key")
	}
	f := map[string]string{"": "ask", "ndjson": "lines", "sse": "serverSent"}[o.Stream]
	w.line("    return this.%s<wire.%s>(%q, %s, { %s }, options);", f, o.Out, o.Method, path, strings.Join(parts, ", "))
	w.line("  }")
}

func camel(name string) string {
	head, tail, ok := strings.Cut(name, ".")
	if !ok {
		return head
	}
	return head + strings.ToUpper(tail[:1]) + tail[1:]
}
