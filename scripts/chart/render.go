// Renders the chart of deploy/helm with Helm's template engine and function library. The argument is the folder
// of templates; standard input has the values as JSON. Prints the documents; exits with 1 and the error when a
// template fails.
package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"text/template"

	"github.com/Masterminds/sprig"
	"sigs.k8s.io/yaml"
)

func main() {
	var values map[string]interface{}
	stop(json.NewDecoder(os.Stdin).Decode(&values))
	// Missing values are empty, as in Helm.
	chart := template.New("chart").Option("missingkey=zero").Funcs(sprig.TxtFuncMap())
	chart.Funcs(template.FuncMap{
		"include": func(name string, data interface{}) (string, error) {
			var text bytes.Buffer
			err := chart.ExecuteTemplate(&text, name, data)
			return text.String(), err
		},
		"toYaml": func(value interface{}) (string, error) {
			text, err := yaml.Marshal(value)
			return strings.TrimSuffix(string(text), "\n"), err
		},
		"fail": func(message string) (string, error) { return "", errors.New(message) },
	})
	files, err := filepath.Glob(filepath.Join(os.Args[1], "*"))
	stop(err)
	for _, file := range files {
		text, err := os.ReadFile(file)
		stop(err)
		_, err = chart.New(filepath.Base(file)).Parse(string(text))
		stop(err)
	}
	for _, file := range files {
		name := filepath.Base(file)
		if strings.HasPrefix(name, "_") {
			continue
		}
		var text bytes.Buffer
		stop(chart.ExecuteTemplate(&text, name, values))
		if strings.TrimSpace(text.String()) != "" {
			fmt.Printf("---\n%s\n", strings.TrimSpace(text.String()))
		}
	}
}

func stop(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
