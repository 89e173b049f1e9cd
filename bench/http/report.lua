-- What wrk has seen, as one JSON line.
function done(summary, latency, requests)
  local e = summary.errors
  io.write(string.format(
    'REPORT {"requests":%d,"bytes":%d,"seconds":%.6f,"errors":%d,"statuses":%d,"p50":%.1f,"p99":%.1f}\n',
    summary.requests, summary.bytes, summary.duration / 1e6, e.connect + e.read + e.write + e.timeout, e.status,
    latency:percentile(50), latency:percentile(99)))
end
