package display

import (
	"bytes"
	"fmt"
	"unicode/utf8"
)

// signatures maps the first bytes of a file to its type.
var signatures = []struct{ magic, name string }{
	{"\x7fELF", "ELF program"},
	{"\x89PNG\r\n\x1a\n", "PNG image"},
	{"\xff\xd8\xff", "JPEG image"},
	{"GIF8", "GIF image"},
	{"%PDF-", "PDF document"},
	{"PK\x03\x04", "ZIP archive"},
	{"\x1f\x8b", "gzip archive"},
	{"\xfd7zXZ\x00", "xz archive"},
	{"\x28\xb5\x2f\xfd", "zstd archive"},
	{"BZh", "bzip2 archive"},
	{"\x00asm", "WebAssembly module"},
	{"SQLite format 3\x00", "SQLite database"},
	{"\xca\xfe\xba\xbe", "Java class or Mach-O program"},
	{"\xcf\xfa\xed\xfe", "Mach-O program"},
	{"MZ", "Windows program"},
}

// Binary reports whether data is not text, and describes it by type and size ("PNG image, 12.3
// kB"). Text is UTF-8 without NUL bytes. Control characters alone do not make data binary; they
// are shown escaped.
func Binary(data []byte) (description string, binary bool) {
	if utf8.Valid(data) && bytes.IndexByte(data, 0) < 0 {
		return "", false
	}
	kind := "binary data"
	for _, s := range signatures {
		if bytes.HasPrefix(data, []byte(s.magic)) {
			kind = s.name
			break
		}
	}
	return kind + ", " + Size(int64(len(data))), true
}

// Size formats a number of bytes with a decimal unit: 999 B, 1.2 kB, 3.4 MB.
func Size(n int64) string {
	if n > -1000 && n < 1000 {
		return fmt.Sprintf("%d B", n)
	}
	value, unit := float64(n), 0
	for (value >= 999.95 || value <= -999.95) && unit < 5 {
		value /= 1000
		unit++
	}
	return fmt.Sprintf("%.1f %cB", value, " kMGTP"[unit])
}
