import { until } from './until.ts'

type Measured = { fetch: (path: string) => Promise<Response> }

/** The value of a metric; 0 when it is missing. */
export async function metric({ fetch }: Measured, name: string): Promise<number> {
  const text = await (await fetch('/metrics')).text()
  const line = text.split('\n').find((one) => one.startsWith(`${name} `))
  return Number(line?.split(' ')[1] ?? 0)
}

/** Counts, from now on, calls that continue after their caller has disconnected. */
export async function countLeft(...gateways: readonly Measured[]) {
  const all = async () => {
    const counts = gateways.map((one) => metric(one, 'gateway_calls_left_total'))
    return (await Promise.all(counts)).reduce((sum, count) => sum + count, 0)
  }
  const before = await all()
  const count = async () => (await all()) - before
  return {
    count,
    until: (expected: number) =>
      until(`${expected} are left`, async () => (await count()) === expected),
  }
}
