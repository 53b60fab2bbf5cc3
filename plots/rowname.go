package plots

import (
	"slices"
	"strings"

	"gonum.org/v1/plot/vg"
)

// rowName is the label at the left of a row: the path, what tells it from
// others of its name, what is to be known of it, and its mark.
func rowName(one series, width vg.Length, remarks ...string) []paragraph {
	small := textStyle(smallSize, softInk)
	paragraphs := []paragraph{wrapped(bold(textStyle(labelSize, ink)), one.path.Path, width)}
	for _, detail := range present(append([]string{joined(", ", one.options, one.distance)}, remarks...)) {
		paragraphs = append(paragraphs, wrapped(small, detail, width))
	}
	for _, warning := range present([]string{one.mark, one.aside}) {
		paragraphs = append(paragraphs, wrapped(bold(textStyle(smallSize, vermillion)), warning, width))
	}
	return paragraphs
}

// joined joins the texts that are not empty.
func joined(by string, texts ...string) string {
	return strings.Join(present(texts), by)
}

// present returns the texts that are not empty.
func present(texts []string) []string {
	return slices.DeleteFunc(slices.Clone(texts), func(s string) bool { return s == "" })
}

// withAside puts what must be known of a name in brackets behind it.
func withAside(name, aside string) string {
	if aside == "" {
		return name
	}
	return name + " (" + aside + ")"
}
