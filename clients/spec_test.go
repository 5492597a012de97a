package clients

import (
	"os"
	"regexp"
	"slices"
	"strings"
	"testing"

	"gopkg.in/yaml.v3"
)

// spec is what docs/openapi.yaml says of the operations and types, in a form
// to write clients from.
type spec struct {
	operations []operation // in order of their names
	types      []object    // likewise
}

// operation is one request.
type operation struct {
	Name     string // operationId, such as exec.start
	Method   string
	Path     string
	About    string
	Agent    bool // offered on agent.sock
	Approver bool
	InPath   []string // names in the path
	Query    []field
	Body     string // type of the JSON body; "": none
	Raw      bool   // the body is bytes
	Strict   []string
	Key      bool   // takes an Idempotency-Key
	Out      string // type of the answer, or of one event of it
	Stream   string // "": one answer; else "ndjson" or "sse"
}

// object is a type of the wire.
type object struct {
	Name, About string
	Fields      []field
	Strict      []string // fields that must be there
}

// field is one of an object or a query.
type field struct {
	Name, About string
	Required    bool
	Kind        schema
}

// schema is the type of a value.
type schema struct {
	Type  string  // string, integer, boolean, object, array, or the name of an object
	Items *schema // of an array, or of an object that is a map
	Bytes bool    // a string of base64
}

// node reads a YAML mapping by key.
type node struct{ *yaml.Node }

func (n node) get(path ...string) node {
	for _, key := range path {
		found := node{&yaml.Node{}}
		for i := 0; i+1 < len(n.Content); i += 2 {
			if n.Content[i].Value == key {
				found = node{n.Content[i+1]}
			}
		}
		n = found
	}
	return n
}

func (n node) each(f func(key string, v node)) {
	for i := 0; i+1 < len(n.Content); i += 2 {
		f(n.Content[i].Value, node{n.Content[i+1]})
	}
}

func (n node) list() (l []string) {
	for _, c := range n.Content {
		l = append(l, c.Value)
	}
	return l
}

// readSpec reads docs/openapi.yaml.
func readSpec(t *testing.T) spec {
	t.Helper()
	b, err := os.ReadFile("../docs/openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	var doc yaml.Node
	if err := yaml.Unmarshal(b, &doc); err != nil {
		t.Fatal(err)
	}
	root := node{doc.Content[0]}
	var s spec
	root.get("components", "schemas").each(func(name string, v node) {
		o := object{Name: name, About: v.get("description").Value, Strict: v.get("required").list()}
		v.get("properties").each(func(name string, p node) {
			o.Fields = append(o.Fields, field{Name: name, About: p.get("description").Value,
				Required: slices.Contains(o.Strict, name), Kind: readSchema(p)})
		})
		s.types = append(s.types, o)
	})
	root.get("paths").each(func(path string, v node) {
		v.each(func(method string, v node) {
			if !strings.HasPrefix(path, "/v1/") || v.get("operationId").Value == "" {
				return
			}
			s.operations = append(s.operations, readOperation(path, method, v))
		})
	})
	slices.SortFunc(s.operations, func(a, b operation) int { return strings.Compare(a.Name, b.Name) })
	return s
}

var placeholder = regexp.MustCompile(`\{(\w+)\}`)

func readOperation(path, method string, v node) operation {
	o := operation{Name: v.get("operationId").Value, Method: strings.ToUpper(method), Path: path}
	o.About, _, _ = strings.Cut(v.get("description").Value, ". Offered on")
	sockets := v.get("x-sockets").list()
	o.Agent, o.Approver = slices.Contains(sockets, "agent.sock"), slices.Contains(sockets, "approver.sock")
	for _, m := range placeholder.FindAllStringSubmatch(path, -1) {
		o.InPath = append(o.InPath, m[1])
	}
	for _, p := range v.get("parameters").Content {
		p := node{p}
		switch name := p.get("name").Value; {
		case p.get("in").Value == "query":
			o.Query = append(o.Query, field{Name: name, Required: p.get("required").Value == "true",
				Kind: readSchema(p.get("schema"))})
		case name == "Idempotency-Key":
			o.Key = true
		}
	}
	body := v.get("requestBody", "content")
	o.Body = readSchema(body.get("application/json", "schema")).Type
	o.Raw = body.get("application/octet-stream").Node != nil && len(body.Content) > 0 && o.Body == ""
	v.get("responses").each(func(status string, r node) {
		if status == "default" {
			return
		}
		r.get("content").each(func(media string, c node) {
			o.Out = readSchema(c.get("schema")).Type
			switch media {
			case "application/x-ndjson":
				o.Stream = "ndjson"
			case "text/event-stream":
				o.Stream = "sse"
			}
		})
	})
	return o
}

func readSchema(v node) schema {
	if ref := v.get("$ref").Value; ref != "" {
		return schema{Type: ref[strings.LastIndexByte(ref, '/')+1:]}
	}
	s := schema{Type: v.get("type").Value, Bytes: v.get("contentEncoding").Value == "base64"}
	for _, key := range []string{"items", "additionalProperties"} {
		if items := v.get(key); len(items.Content) > 0 {
			of := readSchema(items)
			s.Items = &of
		}
	}
	return s
}

func (s spec) object(name string) object {
	for _, o := range s.types {
		if o.Name == name {
			return o
		}
	}
	return object{}
}
