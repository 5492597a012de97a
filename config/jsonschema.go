package config

import (
	"encoding/json"
	"reflect"
	"strings"
	"time"

	"sandboxd/sandbox"
)

// Schema is the JSON schema (2020-12) of a configuration file, for editors and
// for `sandboxd config schema`. Each key says how its layers combine
// ("x-merge") and whether a project's file may hold it ("x-project").
func Schema() []byte {
	root := schemaOf(shape, nil)
	root["$schema"] = "https://json-schema.org/draft/2020-12/schema"
	root["title"] = "sandboxd configuration"
	out, err := json.MarshalIndent(root, "", "  ")
	if err != nil {
		panic("config: schema: " + err.Error())
	}
	return append(out, '\n')
}

func schemaOf(n *node, path []string) map[string]any {
	if n.leaf {
		return leafSchema(n, path)
	}
	out := map[string]any{"type": "object", "additionalProperties": false}
	props := map[string]any{}
	for _, name := range n.names() {
		props[name] = schemaOf(n.children[name], append(path[:len(path):len(path)], name))
	}
	if len(props) > 0 {
		out["properties"] = props
	}
	if free, ok := n.children["*"]; ok {
		out["additionalProperties"] = schemaOf(free, append(path[:len(path):len(path)], "*"))
	}
	return out
}

func leafSchema(n *node, path []string) map[string]any {
	out := typeSchema(n.typ)
	if n.list != nil {
		out["items"] = schemaOf(n.list, nil)
	}
	k, ok := keyIndex[strings.Join(path, ".")]
	if !ok || len(path) == 0 {
		return out
	}
	out["description"] = k.doc
	out["x-merge"] = k.merge.String()
	out["x-project"] = k.project
	if len(k.words) > 0 {
		out["enum"] = k.words
	}
	return out
}

func typeSchema(t reflect.Type) map[string]any {
	switch p := reflect.PointerTo(t); {
	case t == reflect.TypeFor[Require]():
		return map[string]any{"oneOf": []any{
			map[string]any{"type": "boolean"},
			map[string]any{"type": "array", "items": map[string]any{"type": "string", "enum": sandbox.Protections}},
		}}
	case t == reflect.TypeFor[Size]():
		return map[string]any{"type": []string{"integer", "string"}, "minimum": 0}
	case t == reflect.TypeFor[time.Duration]():
		return map[string]any{"type": "string"}
	case p.Implements(tomlUnmarshaler):
		return map[string]any{"type": []string{"string", "object"}}
	case p.Implements(textUnmarshaler):
		return map[string]any{"type": "string"}
	}
	switch t.Kind() {
	case reflect.Pointer:
		return typeSchema(t.Elem())
	case reflect.Bool:
		return map[string]any{"type": "boolean"}
	case reflect.Int, reflect.Int64:
		return map[string]any{"type": "integer"}
	case reflect.Slice:
		return map[string]any{"type": "array", "items": typeSchema(t.Elem())}
	case reflect.Map:
		return map[string]any{"type": "object", "additionalProperties": typeSchema(t.Elem())}
	}
	return map[string]any{"type": "string"}
}
