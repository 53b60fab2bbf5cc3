package usage

import (
	"context"
	"strconv"
	"strings"

	"lockcost/env"
)

// etcd is one member of a cluster.
type etcd struct {
	cluster env.Etcd
	addr    string
}

func (etcd) close() error { return nil }

// read asks for its metrics, which it has without a login.
func (e etcd) read(ctx context.Context) (Reading, error) {
	text, err := e.cluster.Metrics(ctx, e.addr)
	if err != nil {
		return Reading{}, err
	}
	sums := map[string]float64{}
	for line := range strings.Lines(text) {
		name, value, found := strings.Cut(strings.TrimSpace(line), " ")
		if !found || strings.HasPrefix(name, "#") {
			continue
		}
		name, _, _ = strings.Cut(name, "{")
		if v, err := strconv.ParseFloat(value, 64); err == nil {
			sums[name] += v
		}
	}
	r := newReading()
	for counter, names := range map[Counter][]string{
		CPU:         {"process_cpu_seconds_total"},
		BytesIn:     {"etcd_network_client_grpc_received_bytes_total"},
		BytesOut:    {"etcd_network_client_grpc_sent_bytes_total"},
		Commands:    {"grpc_server_handled_total"},
		Replication: {"etcd_network_peer_sent_bytes_total"},
		Fsyncs:      {"etcd_disk_wal_fsync_duration_seconds_count", "etcd_disk_backend_commit_duration_seconds_count"},
		Held:        {"etcd_mvcc_db_total_size_in_use_in_bytes"},
	} {
		for _, name := range names {
			v, ok := sums[name]
			if !ok && counter == Replication {
				v, ok = 0, true // a member that is alone has none
			}
			if !ok {
				r.Unknown[counter] = "this member does not count it"
				continue
			}
			r.Values[counter] += v
		}
	}
	if v, ok := r.Values[CPU]; ok {
		r.Values[CPU] = v * 1e9
	}
	return r, nil
}

// zooKeeper is one server of an ensemble.
type zooKeeper struct {
	ensemble env.ZooKeeper
	addr     string
}

func (zooKeeper) close() error { return nil }

// read asks mntr, which has to be among the server's four-letter words.
func (z zooKeeper) read(ctx context.Context) (Reading, error) {
	text, err := z.ensemble.Ask(ctx, z.addr, "mntr")
	if err != nil {
		return Reading{}, err
	}
	fields := map[string]string{}
	for line := range strings.Lines(text) {
		if name, value, found := strings.Cut(strings.TrimSpace(line), "\t"); found {
			fields[name] = value
		}
	}
	r := newReading()
	r.Unknown[CPU] = noCPU
	r.take(BytesIn, fields["zk_bytes_received_count"], 1)
	r.Unknown[BytesOut] = "ZooKeeper does not count it"
	r.take(Commands, fields["zk_packets_received"], 1)
	r.Unknown[Replication] = "ZooKeeper does not count it"
	r.take(Fsyncs, fields["zk_cnt_fsynctime"], 1)
	r.take(Held, fields["zk_approximate_data_size"], 1)
	return r, nil
}
