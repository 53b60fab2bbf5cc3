package plots

import (
	"strings"

	"gonum.org/v1/plot/vg"
)

// rowName is the label at the left of a row: the path, what tells it from
// others of its name, what must be known of it, and its mark.
func rowName(one series, remark string, width vg.Length) []paragraph {
	small := textStyle(smallSize, softInk)
	paragraphs := []paragraph{wrapped(bold(textStyle(labelSize, ink)), one.path.Path, width)}
	for _, detail := range []string{joined(", ", one.options, one.distance), remark} {
		if detail != "" {
			paragraphs = append(paragraphs, wrapped(small, detail, width))
		}
	}
	for _, warning := range []string{one.mark, one.aside} {
		if warning != "" {
			paragraphs = append(paragraphs, wrapped(bold(textStyle(smallSize, vermillion)), warning, width))
		}
	}
	return paragraphs
}

// joined joins the texts that are not empty.
func joined(by string, texts ...string) string {
	var kept []string
	for _, s := range texts {
		if s != "" {
			kept = append(kept, s)
		}
	}
	return strings.Join(kept, by)
}
