package ipc

import (
	"encoding/json"
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"net/http"
	"net/url"
	"os"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"
)

const openapi = "../docs/openapi.yaml"

// R-IP-06: docs/openapi.yaml matches the routes and types of this package. UPDATE=1 rewrites it.
func TestOpenAPI(t *testing.T) {
	want := description(t)
	if os.Getenv("UPDATE") != "" {
		if err := os.WriteFile(openapi, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	got, err := os.ReadFile(openapi)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the code says; run UPDATE=1 go test -run TestOpenAPI ./ipc and look at the difference",
			openapi)
	}
}

// description writes OpenAPI 3.1 (spec.openapis.org/oas/v3.1.0).
func description(t *testing.T) string {
	d := &describer{comments: readComments(t), todo: []reflect.Type{reflect.TypeFor[errorBody]()}}
	d.line(0, "# Written by TestOpenAPI in ipc/ from the routes and types there. Do not edit.")
	d.line(0, "openapi: 3.1.0")
	d.line(0, "info:")
	d.line(1, "title: sandboxd")
	d.line(1, "version: %q", fmt.Sprint(Protocol))
	d.text(1, "description", "HTTP/1.1 with JSON on two Unix sockets, agent.sock and approver.sock. docs/protocol.md "+
		"says what this file cannot: order, meaning, and who may do what. Fields that are not listed may appear in answers.")
	d.line(0, "servers:")
	d.line(1, "- url: http://sandboxd")
	d.text(2, "description", "Connect to the socket; the host name is not looked at.")
	d.line(0, "security:")
	d.line(1, "- {}")
	d.line(1, "- secret: []")
	d.line(0, "paths:")
	d.paths()
	d.line(0, "components:")
	d.line(1, "securitySchemes:")
	d.line(2, "secret:")
	d.line(3, "type: http")
	d.line(3, "scheme: bearer")
	d.text(3, "description", "The secret that opening an API session returned.")
	d.line(1, "schemas:")
	d.schemas()
	return d.out.String()
}

type describer struct {
	out      strings.Builder
	comments comments
	todo     []reflect.Type
}

func (d *describer) line(depth int, format string, args ...any) {
	d.out.WriteString(strings.Repeat("  ", depth))
	fmt.Fprintf(&d.out, format, args...)
	d.out.WriteByte('\n')
}

// text writes a string that may hold anything: JSON strings are YAML.
func (d *describer) text(depth int, key, s string) {
	if s = strings.Join(strings.Fields(s), " "); s != "" {
		d.line(depth, "%s: %s", key, strings.TrimSpace(string(encode(s))))
	}
}

func (d *describer) paths() {
	last := ""
	routes := Routes()
	slices.SortStableFunc(routes, func(a, b Route) int { return strings.Compare(a.Path, b.Path) })
	for _, r := range routes {
		if r.Path != last {
			d.line(1, "%s:", r.Path)
			last = r.Path
		}
		d.line(2, "%s:", strings.ToLower(r.Method))
		d.line(3, "operationId: %s", r.Name)
		var sockets []string
		for _, role := range r.Roles {
			sockets = append(sockets, string(role)+".sock")
		}
		d.text(3, "description", r.About+". Offered on "+strings.Join(sockets, " and ")+".")
		d.line(3, "x-sockets: [%s]", strings.Join(sockets, ", "))
		d.parameters(r)
		d.requestBody(r)
		d.responses(r)
	}
}

var inPath = regexp.MustCompile(`\{(\w+)\}`)

func (d *describer) parameters(r Route) {
	var seen []parameter
	if r.read != nil {
		var bad *Error
		r.read(params{r: &http.Request{URL: &url.URL{}, Header: http.Header{}}, bad: &bad, seen: &seen})
	}
	names := inPath.FindAllStringSubmatch(r.Path, -1)
	header := r.Name == "exec.start" || r.Name == "exec.run" || r.Name == "file"
	if len(seen)+len(names) == 0 && !header {
		return
	}
	d.line(3, "parameters:")
	for _, n := range names {
		d.line(4, "- {name: %s, in: path, required: true, schema: {type: string}}", n[1])
		if n[1] == "op" {
			d.line(5, "# one of: %s", strings.Join(fileOps, ", "))
		}
	}
	for _, p := range seen {
		kind := "type: " + p.kind
		if p.kind == "date-time" {
			kind = "type: string, format: date-time"
		}
		d.line(4, "- {name: %s, in: query, required: %v, schema: {%s}}", p.name, p.required, kind)
	}
	if r.Name == "events" {
		d.line(4, "- {name: Last-Event-ID, in: header, schema: {type: integer}}")
	}
	if header {
		d.line(4, "- {name: Idempotency-Key, in: header, schema: {type: string, maxLength: 256}}")
	}
}

func (d *describer) requestBody(r Route) {
	switch {
	case r.raw:
		d.line(3, "requestBody:")
		d.line(4, "content: {application/octet-stream: {}}")
	case r.in != nil:
		_, strict := reflect.Zero(r.in).Interface().(required)
		v, checked := reflect.Zero(r.in).Interface().(validator)
		d.line(3, "requestBody:")
		d.line(4, "required: %v", strict || checked && v.validate() != nil)
		d.line(4, "content:")
		d.line(5, "application/json:")
		d.line(6, "schema: {%s}", d.schema(r.in))
	}
}

func (d *describer) responses(r Route) {
	if r.status == http.StatusSwitchingProtocols {
		d.webSocket()
		return
	}
	status := max(r.status, http.StatusOK)
	media := r.stream
	if media == "" {
		media = "application/json"
	}
	d.line(3, "responses:")
	d.line(4, "\"%d\":", status)
	switch r.stream {
	case "":
		d.line(5, "description: done")
	case "text/event-stream":
		d.line(5, "description: \"Server-Sent Events: id is seq, event is type, data is one of these\"")
	default:
		d.line(5, "description: one of these a line")
	}
	d.line(5, "content:")
	d.line(6, "%s:", media)
	d.line(7, "schema: {%s}", d.schema(r.out))
	d.failure()
}

func (d *describer) failure() {
	d.line(4, "default:")
	d.line(5, "description: it was not done")
	d.line(5, "content:")
	d.line(6, "application/json:")
	d.line(7, "schema: {$ref: \"#/components/schemas/ErrorBody\"}")
}

// webSocket describes what OpenAPI has no words for as an extension.
func (d *describer) webSocket() {
	d.line(3, "responses:")
	d.line(4, "\"101\":")
	d.line(5, "description: the connection is a WebSocket from here on")
	d.line(5, "x-messages:")
	d.line(6, "sent: {%s}", d.schema(reflect.TypeFor[RPCCall]()))
	d.line(6, "received:")
	d.line(7, "- {%s}", d.schema(reflect.TypeFor[RPCReply]()))
	d.line(7, "- {%s}", d.schema(reflect.TypeFor[RPCValue]()))
	d.failure()
}

// schema is a type in flow style; structs are put down for later.
func (d *describer) schema(t reflect.Type) string {
	switch {
	case t == reflect.TypeFor[time.Time]():
		return "type: string, format: date-time"
	case t == reflect.TypeFor[json.RawMessage]():
		return "type: object"
	case t == reflect.TypeFor[RPCID]():
		return "type: [number, string, \"null\"]"
	case t == reflect.TypeFor[RPCAny]():
		return "{}"
	case t == reflect.TypeFor[[]byte]():
		return "type: string, contentEncoding: base64"
	}
	switch t.Kind() {
	case reflect.Pointer:
		return d.schema(t.Elem())
	case reflect.Struct:
		d.todo = append(d.todo, t)
		return fmt.Sprintf("$ref: \"#/components/schemas/%s\"", public(t))
	case reflect.Slice:
		return "type: array, items: {" + d.schema(t.Elem()) + "}"
	case reflect.Map:
		return "type: object, additionalProperties: {" + d.schema(t.Elem()) + "}"
	case reflect.String:
		return "type: string"
	case reflect.Bool:
		return "type: boolean"
	case reflect.Uint8, reflect.Uint16, reflect.Uint32, reflect.Uint, reflect.Uint64:
		return "type: integer, minimum: 0"
	case reflect.Int, reflect.Int64:
		return "type: integer"
	}
	panic("no schema for " + t.String())
}

func public(t reflect.Type) string {
	return strings.ToUpper(t.Name()[:1]) + t.Name()[1:]
}

func (d *describer) schemas() {
	// Each may add more; the file is in alphabetical order.
	written := map[string]string{}
	for len(d.todo) > 0 {
		t := d.todo[0]
		d.todo = d.todo[1:]
		if _, done := written[public(t)]; done {
			continue
		}
		written[public(t)] = ""
		sub := &describer{comments: d.comments}
		sub.object(t)
		d.todo = append(d.todo, sub.todo...)
		written[public(t)] = sub.out.String()
	}
	names := []string{}
	for n := range written {
		names = append(names, n)
	}
	slices.Sort(names)
	for _, n := range names {
		d.out.WriteString(written[n])
	}
}

func (d *describer) object(t reflect.Type) {
	d.line(2, "%s:", public(t))
	d.line(3, "type: object")
	d.text(3, "description", d.comments.types[t.Name()])
	if r, ok := reflect.Zero(t).Interface().(required); ok {
		d.line(3, "required: [%s]", strings.Join(r.required(), ", "))
		d.line(3, "additionalProperties: false")
	}
	d.line(3, "properties:")
	d.fields(t)
}

func (d *describer) fields(t reflect.Type) {
	for i := range t.NumField() {
		f := t.Field(i)
		if f.Anonymous {
			d.fields(f.Type)
			continue
		}
		name, _, _ := strings.Cut(f.Tag.Get("json"), ",")
		if name == "-" || name == "" {
			continue
		}
		d.line(4, "%s:", name)
		if s := d.schema(f.Type); strings.HasPrefix(s, "$ref") {
			d.line(5, "%s", s)
		} else if s != "{}" {
			for _, part := range splitFlow(s) {
				d.line(5, "%s", part)
			}
		}
		d.text(5, "description", d.comments.fields[t.Name()+"."+f.Name])
	}
}

// splitFlow parts "a: b, c: {d: e, f: g}" at its outermost commas.
func splitFlow(s string) []string {
	var parts []string
	depth, from := 0, 0
	for i, c := range s {
		switch {
		case c == '{' || c == '[':
			depth++
		case c == '}' || c == ']':
			depth--
		case c == ',' && depth == 0:
			parts = append(parts, strings.TrimSpace(s[from:i]))
			from = i + 1
		}
	}
	return append(parts, strings.TrimSpace(s[from:]))
}

// comments are what the source says about types and their fields.
type comments struct {
	types, fields map[string]string
}

func readComments(t *testing.T) comments {
	c := comments{types: map[string]string{}, fields: map[string]string{}}
	files, err := filepath.Glob("*.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range files {
		f, err := parser.ParseFile(token.NewFileSet(), name, nil, parser.ParseComments)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			if decl, ok := decl.(*ast.GenDecl); ok {
				for _, spec := range decl.Specs {
					if ts, ok := spec.(*ast.TypeSpec); ok {
						c.typ(ts, decl.Doc)
					}
				}
			}
		}
	}
	return c
}

func (c comments) typ(ts *ast.TypeSpec, doc *ast.CommentGroup) {
	st, ok := ts.Type.(*ast.StructType)
	if !ok {
		return
	}
	c.types[ts.Name.Name] = plainText(doc.Text())
	for _, f := range st.Fields.List {
		for _, n := range f.Names {
			c.fields[ts.Name.Name+"."+n.Name] = plainText(f.Doc.Text() + " " + f.Comment.Text())
		}
	}
}

// plainText takes the links of Go's comments out.
func plainText(s string) string {
	return strings.NewReplacer("[*Error]", "Error", "[Error]", "Error", "[", "", "]", "").Replace(s)
}

// Every operation, error code, event and file operation is explained in the
// protocol's document, and it names no operation that is not there.
func TestProtocolDocument(t *testing.T) {
	b, err := os.ReadFile("../docs/protocol.md")
	if err != nil {
		t.Fatal(err)
	}
	doc := string(b)
	for _, r := range Routes() {
		var sockets []string
		for _, role := range r.Roles {
			sockets = append(sockets, string(role))
		}
		row := fmt.Sprintf("| `%s %s` | %s | %s |", r.Method, r.Path, strings.Join(sockets, ", "), r.About)
		if !strings.Contains(doc, row) {
			t.Errorf("no row %s", row)
		}
	}
	for _, m := range regexp.MustCompile("`(GET|POST|DELETE|PUT) (/v1[^` ?]*)").FindAllStringSubmatch(doc, -1) {
		if !slices.ContainsFunc(Routes(), func(r Route) bool { return r.Method == m[1] && r.Path == m[2] }) {
			t.Errorf("it names %s %s, which is not there", m[1], m[2])
		}
	}
	for code := range statuses {
		if !strings.Contains(doc, "`"+string(code)+"`") {
			t.Errorf("the code %s is not explained", code)
		}
	}
	words := slices.Clone(fileOps)
	for _, e := range []EventType{EventQueued, EventApproval, EventStarted, EventStdout, EventStderr, EventPTY,
		EventViolation, EventChanges, EventLanded, EventGap, EventExit} {
		words = append(words, string(e))
	}
	words = append(words, NewsRequested, NewsGranted, NewsDenied, NewsTimedOut, NewsApproveAll, NewsQuit, NewsRevoked,
		NewsMode, NewsSession, NewsChanges, NewsLanded, NewsGap)
	for _, w := range words {
		if !strings.Contains(doc, "`"+w+"`") {
			t.Errorf("%s is not explained", w)
		}
	}
}
