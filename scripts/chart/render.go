// Renders the chart of deploy/helm with the template engine and the function library that Helm is made of.
// Arguments: the folder of templates. Standard input: the values that templates see, as JSON. It prints the
// documents; the exit code is 1 with what a template refuses.
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
	// As Helm: what is not there is empty.
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
