// npm links the command as it is, and tsc writes files without the execute bit.
import { chmodSync } from 'node:fs'

chmodSync(new URL('../dist/src/cli/main.js', import.meta.url), 0o755)
