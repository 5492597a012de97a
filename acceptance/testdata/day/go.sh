mkdir -p internal/keys && printf 'module example.org/m\n\ngo 1.21\n' > go.mod
printf 'package m\n\nimport "errors"\n\n// TODO: line numbers.\nvar ErrParse = errors.New("parse")\n' > parse.go
printf 'package m\n\n// Decoder decodes.\ntype Decoder struct{}\n\n// Decode decodes.\nfunc (Decoder) Decode() error { return ErrParse }\n' > decode.go
printf 'package m\n\nimport "testing"\n\nfunc TestDecode(t *testing.T) {\n\tif (Decoder{}).Decode() == nil {\n\t\tt.Fatal("no error")\n\t}\n}\n' > m_test.go
printf 'package keys\n' > internal/keys/a.go; touch test.log
