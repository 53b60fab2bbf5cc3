package usage

import (
	"context"
	"strconv"

	"github.com/redis/go-redis/v9"

	"lockcost/env"
)

// redisServer is a Redis or a Sentinel.
type redisServer struct {
	client *redis.Client
	keeps  bool // data
}

func newRedis(o *redis.Options, keeps bool) redisServer {
	return redisServer{redis.NewClient(o), keeps}
}

func (s redisServer) close() error { return s.client.Close() }

// read asks INFO. Its own reply is not yet counted in what it says, nor is the
// command itself; both are added, so that they fall out of a difference.
func (s redisServer) read(ctx context.Context) (Reading, error) {
	text, err := s.client.Info(ctx).Result()
	if err != nil {
		return Reading{}, err
	}
	info := env.ParseInfo(text)
	r := newReading()
	r.take(BytesIn, info["total_net_input_bytes"], 1)
	r.take(BytesOut, info["total_net_output_bytes"], 1)
	r.take(Commands, info["total_commands_processed"], 1)
	if _, known := r.Values[BytesOut]; known {
		const frame = 9 // $, the length in four digits, and two line ends
		r.Values[BytesOut] += float64(len(text) + frame)
		r.Values[Commands]++
	}
	system, errS := strconv.ParseFloat(info["used_cpu_sys"], 64)
	user, errU := strconv.ParseFloat(info["used_cpu_user"], 64)
	if errS == nil && errU == nil {
		r.Values[CPU] = (system + user) * 1e9
	} else {
		r.Unknown[CPU] = noCPU
	}
	if !s.keeps {
		return r, nil
	}
	r.memory(info)
	r.replication(info)
	r.syncs(info)
	return r, nil
}

// memory is what is used, but for what is kept for replicas. (What INFO says
// that clients' buffers take is summed up now and then, and cannot be taken
// off a total that is of now.)
func (r Reading) memory(info map[string]string) {
	r.take(Held, info["used_memory"], 1)
	if _, known := r.Values[Held]; !known {
		return
	}
	buffers := []string{"mem_total_replication_buffers", "mem_aof_buffer"}
	if info["mem_total_replication_buffers"] == "" { // before 7.0
		buffers = []string{"mem_clients_slaves", "mem_replication_backlog", "mem_aof_buffer"}
	}
	for _, field := range buffers {
		if v, err := strconv.ParseFloat(info[field], 64); err == nil {
			r.Values[Held] -= v
		}
	}
}

// replication is told apart since Redis 7.0, and is in the totals too, which it
// is taken off: what is left is clients'.
func (r Reading) replication(info map[string]string) {
	for counter, field := range map[Counter]string{BytesIn: "total_net_repl_input_bytes", BytesOut: "total_net_repl_output_bytes"} {
		v, err := strconv.ParseFloat(info[field], 64)
		if _, known := r.Values[counter]; known && err == nil {
			r.Values[counter] -= v
		}
	}
	field := "total_net_repl_output_bytes"
	if info["role"] == "slave" {
		field = "total_net_repl_input_bytes"
	}
	r.take(Replication, info[field], 1)
}

// syncs are none where nothing is written to a file. Otherwise Redis does not
// count them.
func (r Reading) syncs(info map[string]string) {
	if info["aof_enabled"] != "0" {
		r.Unknown[Fsyncs] = "Redis does not count those of its append-only file"
		return
	}
	r.Values[Fsyncs] = 0
	r.take(saves, info["rdb_saves"], 1)
	delete(r.Unknown, saves) // before 7.0
	if info["rdb_bgsave_in_progress"] != "0" {
		r.Values[saves] += 0.5 // and so another number than before it, and after
	}
}
