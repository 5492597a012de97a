package durable

import (
	"encoding/json"
	"testing"
)

func TestSeal(t *testing.T) {
	t.Parallel()
	for _, object := range []string{`{"a":1}`, "{\n \"a\": [1, 2]\n}\n", `{}`, ``, `[1]`} {
		data := Seal([]byte(object))
		if got, err := Unseal(data); err != nil || string(got) != object {
			t.Errorf("%q: got %q, %v", object, got, err)
		}
		if got, err := Unseal([]byte(object)); err != nil || string(got) != object {
			t.Errorf("%q without a hash: got %q, %v", object, got, err)
		}
	}
	data := Seal([]byte(`{"path":"/a/b","n":1}`))
	if !json.Valid(data) {
		t.Errorf("%s is not JSON", data)
	}
	var was, is map[string]any
	json.Unmarshal(data, &was)
	delete(was, "sum")
	for i := range data {
		changed := append([]byte(nil), data...)
		changed[i] ^= 1
		got, err := Unseal(changed)
		if err != nil || json.Unmarshal(got, &is) != nil {
			continue
		}
		delete(is, "sum")
		if is["path"] != was["path"] || is["n"] != was["n"] {
			t.Errorf("%s is taken for %v", changed, is)
		}
		is = nil
	}
}
