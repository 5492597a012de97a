package gateway

import (
	"embed"
	"io/fs"
	"mime"
	"net/http"
	"path"
)

// The page: no build step, nothing from elsewhere.
//
//go:embed page
var embedded embed.FS

// pages serves the files of the page. They hold no secret.
func pages(mux *http.ServeMux) {
	files, err := fs.Sub(embedded, "page")
	if err != nil {
		panic(err) // the folder is in the binary
	}
	entries, err := fs.ReadDir(files, ".")
	if err != nil {
		panic(err)
	}
	for _, e := range entries {
		name := e.Name()
		content, err := fs.ReadFile(files, name)
		if err != nil {
			panic(err)
		}
		at := "GET /" + name
		if name == "index.html" {
			at = "GET /{$}"
		}
		media := mime.TypeByExtension(path.Ext(name))
		if path.Ext(name) == ".js" {
			media = "text/javascript; charset=utf-8"
		}
		mux.HandleFunc(at, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Content-Type", media)
			w.Write(content)
		})
	}
}
