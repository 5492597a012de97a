// Command netclient fetches a URL the way any Go program does.
package main

import (
	"fmt"
	"io"
	"net/http"
	"os"
)

func main() {
	res, err := http.Get(os.Args[1])
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	defer res.Body.Close()
	io.Copy(os.Stdout, res.Body)
	if res.StatusCode != http.StatusOK {
		os.Exit(1)
	}
}
