package servers

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
)

// reader finds the servers in JSON.
type reader struct {
	text  []byte
	d     *json.Decoder
	found []entry
}

// value reads the value of a key; above is the key of the object around it. keys are those of an object.
func (r *reader) value(above, key string) (at span, keys []string, err error) {
	at.start = int(r.d.InputOffset())
	at.start += len(r.text[at.start:]) - len(bytes.TrimLeft(r.text[at.start:], " \t\r\n:,"))
	token, err := r.d.Token()
	if err != nil {
		return at, nil, err
	}
	switch token {
	case json.Delim('{'):
		keys, err = r.object(above, key)
	case json.Delim('['):
		for err == nil && r.d.More() {
			_, _, err = r.value("", "")
		}
		if err == nil {
			_, err = r.d.Token()
		}
	}
	at.end = int(r.d.InputOffset())
	return at, keys, err
}

// object reads an object that has begun. Those below "mcpServers" or "servers" are servers.
func (r *reader) object(above, key string) (keys []string, err error) {
	e := entry{name: key}
	for r.d.More() {
		token, err := r.d.Token()
		if err != nil {
			return nil, err
		}
		name, ok := token.(string)
		if !ok {
			return nil, errors.New("an object's key is no text")
		}
		keys = append(keys, name)
		at, inner, err := r.value(key, name)
		if err != nil {
			return nil, err
		}
		switch first := r.text[at.start]; {
		case name == "command" && first == '"':
			e.command = at
		case name == "args" && first == '[':
			e.args = at
		case name == "env":
			e.env = inner
		}
	}
	if (above == "mcpServers" || above == "servers") && e.command.end > 0 {
		r.found = append(r.found, e)
	}
	_, err = r.d.Token()
	return keys, err
}

var (
	header    = regexp.MustCompile(`(?m)^[ \t]*\[.*$`)
	ofServer  = regexp.MustCompile(`^[ \t]*\[mcp_servers\.(?:"([^"\\]+)"|([A-Za-z0-9_-]+))\][ \t]*(?:#.*)?\r?$`)
	ofItsEnv  = regexp.MustCompile(`^[ \t]*\[mcp_servers\.(?:"([^"\\]+)"|([A-Za-z0-9_-]+))\.env\][ \t]*(?:#.*)?\r?$`)
	tomlKey   = regexp.MustCompile(`(?m)^[ \t]*(command|args|env)[ \t]*=[ \t]*`)
	tomlName  = regexp.MustCompile(`(?m)^[ \t]*["']?([A-Za-z0-9_]+)["']?[ \t]*=`)
	inlineKey = regexp.MustCompile(`([A-Za-z0-9_]+)["']?[ \t]*=`)
	values    = regexp.MustCompile(`=[ \t]*("(?:[^"\\\n]|\\.)*"|'[^'\n]*')`)
)

// tables finds the servers in TOML: the tables below mcp_servers.
func tables(text []byte) ([]entry, error) {
	if bytes.Contains(text, []byte(`'''`)) || bytes.Contains(text, []byte(`"""`)) {
		return nil, errors.New("it has texts of several lines")
	}
	var found []entry
	heads := header.FindAllIndex(text, -1)
	for i, h := range heads {
		body := span{h[1], len(text)}
		if i+1 < len(heads) {
			body.end = heads[i+1][0]
		}
		line := text[h[0]:h[1]]
		m := ofItsEnv.FindSubmatch(line)
		if n := len(found); m != nil && n > 0 && found[n-1].name == string(m[1])+string(m[2]) {
			last := &found[n-1]
			for _, key := range tomlName.FindAllSubmatch(text[body.start:body.end], -1) {
				last.env = append(last.env, string(key[1]))
			}
		}
		if m = ofServer.FindSubmatch(line); m != nil {
			e := table(text, body)
			e.name = string(m[1]) + string(m[2])
			if e.command.end > 0 {
				found = append(found, e)
			}
		}
	}
	return found, nil
}

// table reads the keys of one server.
func table(text []byte, body span) entry {
	e := entry{toml: true}
	for _, m := range tomlKey.FindAllSubmatchIndex(text[body.start:body.end], -1) {
		start := body.start + m[1]
		rest := text[start:body.end]
		at := texts.FindIndex(rest)
		switch key := string(text[body.start+m[2] : body.start+m[3]]); {
		case key == "command" && at != nil && at[0] == 0:
			e.command = span{start, start + at[1]}
		case key == "args" && bytes.HasPrefix(rest, []byte("[")):
			if end := bytes.IndexByte(blanked(rest), ']'); end > 0 {
				e.args = span{start, start + end + 1}
			}
		case key == "env" && bytes.HasPrefix(rest, []byte("{")):
			blank := blanked(rest)
			if end := bytes.IndexByte(blank, '}'); end > 0 {
				for _, name := range inlineKey.FindAllSubmatch(values.ReplaceAll(rest[:end], []byte("=")), -1) {
					e.env = append(e.env, string(name[1]))
				}
			}
		}
	}
	return e
}

// blanked replaces texts by spaces.
func blanked(text []byte) []byte {
	return texts.ReplaceAllFunc(text, func(s []byte) []byte { return bytes.Repeat([]byte(" "), len(s)) })
}
