// Package abspath takes apart absolute paths that are clean in the sense of
// path.Clean, as profiles have them. It looks at no file system.
package abspath

import "strings"

// Join appends a relative path that is clean, too.
func Join(dir, rel string) string {
	if dir == "/" {
		return "/" + rel
	}
	return dir + "/" + rel
}

// Parent is the directory that holds p; "/" is its own.
func Parent(p string) string {
	if i := strings.LastIndexByte(p, '/'); i > 0 {
		return p[:i]
	}
	return "/"
}

// Base is the last element of p, "" for "/".
func Base(p string) string { return p[strings.LastIndexByte(p, '/')+1:] }

// Elements splits p; "/" has none.
func Elements(p string) []string {
	if p == "/" {
		return nil
	}
	return strings.Split(p[1:], "/")
}

// Contains reports whether p is dir or below it. Relative clean paths may be compared, too; an
// empty dir contains nothing.
func Contains(dir, p string) bool {
	return dir == "/" || dir != "" && (p == dir || strings.HasPrefix(p, dir) && p[len(dir)] == '/')
}
