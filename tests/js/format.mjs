// Reads numbers as JSON and writes how the view formats them, for Python to compare with its own.
import { readFileSync } from "node:fs";

import { formatBytes, formatSeconds } from "../../d2lperf/timeline/js/scale.js";

const { seconds, bytes } = JSON.parse(readFileSync(0, "utf-8"));
process.stdout.write(JSON.stringify({ seconds: seconds.map(formatSeconds), bytes: bytes.map(formatBytes) }));
