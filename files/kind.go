package files

import (
	"bytes"
	"fmt"
	"path"
	"strings"

	"sandboxd/files/edit"
)

// signatures map the first bytes of a binary content to its kind.
var signatures = []struct{ magic, kind string }{
	{"\x89PNG\r\n\x1a\n", "image/png"}, {"\xff\xd8\xff", "image/jpeg"}, {"GIF87a", "image/gif"}, {"GIF89a", "image/gif"},
	{"RIFF", "riff container"}, {"BM", "image/bmp"}, {"%PDF-", "application/pdf"}, {"PK\x03\x04", "zip archive"},
	{"\x1f\x8b", "gzip data"}, {"BZh", "bzip2 data"}, {"\xfd7zXZ\x00", "xz data"}, {"\x28\xb5\x2f\xfd", "zstd data"},
	{"7z\xbc\xaf\x27\x1c", "7z archive"}, {"\x7fELF", "ELF program or library"}, {"MZ", "Windows program"},
	{"\xcf\xfa\xed\xfe", "macOS program"}, {"\xca\xfe\xba\xbe", "Java class or macOS program"},
	{"SQLite format 3\x00", "SQLite database"},
	{"\x00asm", "WebAssembly"}, {"OggS", "audio or video (Ogg)"}, {"ID3", "audio/mpeg"}, {"fLaC", "audio/flac"},
}

// kindOf names the kind of a content, and reports whether it cannot be shown as text.
func kindOf(content []byte) (kind string, binary bool) {
	switch edit.FormOf(content) {
	case edit.Text:
		return "text", false
	case edit.Wide:
		return "UTF-16 text", true
	case edit.Legacy:
		return "text that is not UTF-8", true
	}
	for _, s := range signatures {
		if bytes.HasPrefix(content, []byte(s.magic)) {
			return s.kind, true
		}
	}
	return "binary data", true
}

// SizeText is a size for people.
func SizeText(n int64) string {
	if n < 1024 {
		return fmt.Sprintf("%d bytes", n)
	}
	v, units := float64(n)/1024, "KMGTPE"
	for v >= 1024 && len(units) > 1 {
		v, units = v/1024, units[1:]
	}
	return fmt.Sprintf("%.1f %ciB", v, units[0])
}

var languages = map[string]string{
	".go": "go", ".py": "python", ".js": "javascript", ".mjs": "javascript", ".cjs": "javascript", ".jsx": "jsx",
	".ts": "typescript", ".tsx": "tsx", ".rs": "rust", ".c": "c", ".h": "c", ".cc": "cpp", ".cpp": "cpp", ".hpp": "cpp",
	".java": "java", ".kt": "kotlin", ".rb": "ruby", ".php": "php", ".swift": "swift", ".cs": "csharp", ".scala": "scala",
	".sh": "bash", ".bash": "bash", ".zsh": "zsh", ".fish": "fish", ".ps1": "powershell", ".sql": "sql", ".html": "html",
	".css": "css", ".scss": "scss", ".json": "json", ".yaml": "yaml", ".yml": "yaml", ".toml": "toml", ".xml": "xml",
	".md": "markdown", ".tex": "latex", ".lua": "lua", ".pl": "perl", ".r": "r", ".jl": "julia", ".hs": "haskell",
	".ex": "elixir", ".erl": "erlang", ".zig": "zig", ".nix": "nix", ".proto": "protobuf", ".tf": "hcl", ".vue": "vue",
}

var languageNames = map[string]string{
	"makefile": "makefile", "gnumakefile": "makefile", "dockerfile": "dockerfile", "cmakelists.txt": "cmake",
	"justfile": "just",
}

// language returns a highlighter's name of the file's language; empty for unknown.
func language(p string) string {
	name := strings.ToLower(path.Base(p))
	if l, ok := languageNames[name]; ok {
		return l
	}
	return languages[path.Ext(name)]
}
