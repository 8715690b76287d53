import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'

const days = 30
const dayMs = 86_400_000

/**
 * Fills the ledger of a stopped gateway with calls of five keys over 30 days, and adds the scope
 * `usage:read` to its keys.
 */
export const fillHistory = (dataDir: string, rows: number): void => {
  const database = new DatabaseSync(join(dataDir, 'gateway.db'))
  const from = Date.now() - days * dayMs
  const stepMs = (days * dayMs) / rows
  database.exec(`
    UPDATE api_keys SET scopes = '["inference","usage:read"]';
    BEGIN;
    WITH RECURSIVE calls(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM calls WHERE n + 1 < ${rows})
    INSERT INTO usage (
      id, at, account_id, key_id, mode, face, modality, model, provider, upstream_model, outcome,
      cache, input_tokens, cached_input_tokens, output_tokens, reasoning_tokens, images,
      cost_nano_usd, cost_status, attempts, duration_ms
    )
    SELECT
      printf('req_%032x', n), ${from} + CAST(n * ${stepMs} AS INTEGER),
      (SELECT id FROM accounts LIMIT 1), 'key_' || (n % 5), 'live', 'chat', 'chat', 'model-' || (n % 7),
      'provider-' || (n % 3), 'model-' || (n % 7), CASE n % 20 WHEN 0 THEN 'failed' ELSE 'ok' END,
      'miss', 1000, 0, 200, 0, 0, 123456, 'exact',
      '[{"provider":"provider","upstreamModel":"model","outcome":"ok","status":200,"durationMs":900}]',
      1000
    FROM calls;
    COMMIT;
  `)
  database.close()
}

type Asked = { port: number; key: string }

/** Requests a usage report `count` times, one after the other. */
export const makeReports = async ({ port, key }: Asked, count: number): Promise<void> => {
  const url = `http://127.0.0.1:${port}/api/usage?group_by=day,model,key&limit=100`
  for (let made = 0; made < count; made += 1) {
    const response = await fetch(url, { headers: { authorization: `Bearer ${key}` } })
    const text = await response.text()
    if (response.status !== 200) throw new Error(`A report was refused: ${text}`)
  }
}

/** Requests one report after another until `stop`. */
export const askForReports = (asked: Asked) => {
  const end = new AbortController()
  const asking = async (): Promise<void> => {
    while (!end.signal.aborted) await makeReports(asked, 1)
  }
  const all = asking()
  return {
    /** Stops requesting reports; resolves after the last report has arrived. */
    stop: async (): Promise<void> => {
      end.abort()
      await all
    },
  }
}
