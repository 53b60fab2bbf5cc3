package history

// RepeatedTokens counts the grants whose fencing token another grant had
// before them, of whatever order: the counter is one for all. Grants without
// a token do not count.
//
// No times are needed: a token is to be given once, so of those that had the
// same one, all but one had it too often, whichever was first.
func RepeatedTokens(ops []Op) int64 {
	given := make(map[uint64]struct{})
	var repeated int64
	for i := range ops {
		token := ops[i].Token
		if token == 0 || !ops[i].granted() {
			continue
		}
		if _, ok := given[token]; ok {
			repeated++
		}
		given[token] = struct{}{}
	}
	return repeated
}
