package acceptance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/google/jsonschema-go/jsonschema"
	"gopkg.in/yaml.v3"
)

// openAPI is docs/openapi.yaml, to make requests by and to hold exchanges to.
type openAPI struct {
	operations map[string]*operation // by operationId
	schemas    map[string]any
	resolved   map[string]*jsonschema.Resolved
}

type operation struct {
	name, method, path string
	pattern            *regexp.Regexp
	sockets            []string
	query              map[string]any // schema of each parameter
	body               bool           // takes JSON
	bodyType           string
	raw                bool
	status             int
	stream             string // media type of a stream
	out                string // type of the answer
}

func readOpenAPI(t *testing.T) *openAPI {
	t.Helper()
	b, err := os.ReadFile("../docs/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	type media map[string]struct{ Schema map[string]any }
	var doc struct {
		Paths map[string]map[string]struct {
			OperationID string   `yaml:"operationId"`
			Sockets     []string `yaml:"x-sockets"`
			Parameters  []struct {
				Name, In string
				Schema   map[string]any
			}
			RequestBody struct{ Content media } `yaml:"requestBody"`
			Responses   map[string]struct{ Content media }
		}
		Components struct{ Schemas map[string]any }
	}
	if err := yaml.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	api := &openAPI{operations: map[string]*operation{}, schemas: map[string]any{},
		resolved: map[string]*jsonschema.Resolved{}}
	refOf := func(s map[string]any) string {
		ref, _ := s["$ref"].(string)
		return strings.TrimPrefix(ref, "#/components/schemas/")
	}
	for path, methods := range doc.Paths {
		for method, o := range methods {
			op := &operation{name: o.OperationID, method: strings.ToUpper(method), path: path, sockets: o.Sockets,
				query: map[string]any{}}
			op.pattern = regexp.MustCompile("^" + regexp.MustCompile(`\{\w+\}`).ReplaceAllString(path, `[^/]+`) + "$")
			for _, p := range o.Parameters {
				if p.In == "query" {
					op.query[p.Name] = p.Schema
				}
			}
			if m, ok := o.RequestBody.Content["application/json"]; ok {
				op.body, op.bodyType = true, refOf(m.Schema)
			}
			_, op.raw = o.RequestBody.Content["application/octet-stream"]
			for status, r := range o.Responses {
				for name, m := range r.Content {
					if status == "default" {
						continue
					}
					fmt.Sscan(status, &op.status)
					op.out = refOf(m.Schema)
					if name != "application/json" {
						op.stream = name
					}
				}
			}
			if op.out != "" {
				api.operations[op.name] = op
			}
		}
	}
	for name, s := range doc.Components.Schemas {
		api.schemas[name] = s
	}
	return api
}

// check holds a value to a type. Of ours, nothing may be there that the
// document does not list.
func (api *openAPI) check(typ string, value any) error {
	r := api.resolved[typ]
	if r == nil {
		defs := map[string]any{}
		b, _ := json.Marshal(api.schemas)
		b = bytes.ReplaceAll(b, []byte("#/components/schemas/"), []byte("#/$defs/"))
		if err := json.Unmarshal(b, &defs); err != nil {
			return err
		}
		for _, d := range defs {
			if d := d.(map[string]any); d["properties"] != nil {
				d["additionalProperties"] = false
			}
		}
		b, _ = json.Marshal(map[string]any{"$defs": defs, "$ref": "#/$defs/" + typ})
		var s jsonschema.Schema
		err := json.Unmarshal(b, &s)
		if err == nil {
			r, err = s.Resolve(nil)
		}
		if err != nil {
			return fmt.Errorf("docs/openapi.yaml, %s: %w", typ, err)
		}
		api.resolved[typ] = r
	}
	return r.Validate(value)
}

// exchanges holds every exchange of a recorded connection to the document and
// counts them by operation.
func (api *openAPI) exchanges(socket string, sent, got []byte, count map[string]int) error {
	requests, answers := bufio.NewReader(bytes.NewReader(sent)), bufio.NewReader(bytes.NewReader(got))
	for {
		req, err := http.ReadRequest(requests)
		if errors.Is(err, io.EOF) {
			return nil
		} else if err != nil {
			return fmt.Errorf("request: %w", err)
		}
		body, _ := io.ReadAll(req.Body) // of a truncated body, the part that arrived
		resp, err := http.ReadResponse(answers, req)
		if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
			return nil // hung up before it was answered
		} else if err != nil {
			return fmt.Errorf("answer to %s %s: %w", req.Method, req.URL, err)
		}
		if resp.StatusCode == http.StatusSwitchingProtocols {
			return nil // webSocketClient checks each message itself
		}
		answer, cut := io.ReadAll(resp.Body)
		if err := api.exchange(socket, req, body, resp, answer, cut != nil, count); err != nil {
			return fmt.Errorf("%s %s answered %s: %w\nsent %.2000s\ngot %.2000s", req.Method, req.URL, resp.Status, err, body,
				answer)
		}
		if cut != nil {
			return nil
		}
	}
}

func (api *openAPI) exchange(socket string, req *http.Request, body []byte, resp *http.Response, answer []byte,
	cut bool, count map[string]int) error {
	var op *operation
	for _, o := range api.operations {
		if o.method == req.Method && o.pattern.MatchString(req.URL.EscapedPath()) {
			op = o
		}
	}
	if op == nil {
		return errors.New("docs/openapi.yaml has no such operation")
	}
	if !strings.Contains(strings.Join(op.sockets, " "), socket) {
		return fmt.Errorf("docs/openapi.yaml does not offer it on %s", socket)
	}
	count[op.name]++
	media := resp.Header.Get("Content-Type")
	if resp.StatusCode >= 300 {
		if media != "application/json" {
			return fmt.Errorf("an error of type %q", media)
		}
		return api.checkJSON("ErrorBody", answer)
	}
	if resp.StatusCode != op.status {
		return fmt.Errorf("docs/openapi.yaml has status %d", op.status)
	}
	for k := range req.URL.Query() {
		if op.query[k] == nil {
			return fmt.Errorf("docs/openapi.yaml has no parameter %q", k)
		}
	}
	if op.bodyType != "" && len(body) > 0 {
		if err := api.checkJSON(op.bodyType, body); err != nil {
			return fmt.Errorf("request: %w", err)
		}
	}
	want := op.stream
	if want == "" {
		want = "application/json"
	}
	if media != want {
		return fmt.Errorf("its type is %q, docs/openapi.yaml has %q", media, want)
	}
	if op.stream == "" {
		return api.checkJSON(op.out, answer)
	}
	lines := bytes.Split(answer, []byte("\n"))
	if cut {
		lines = lines[:len(lines)-1] // the last may not be whole
	}
	for _, line := range lines {
		if op.stream == "text/event-stream" {
			var ok bool
			if line, ok = bytes.CutPrefix(line, []byte("data: ")); !ok {
				continue
			}
		}
		if len(line) == 0 {
			continue
		}
		if err := api.checkJSON(op.out, line); err != nil {
			return err
		}
	}
	return nil
}

func (api *openAPI) checkJSON(typ string, b []byte) error {
	var v any
	if err := json.Unmarshal(b, &v); err != nil {
		return err
	}
	return api.check(typ, v)
}
