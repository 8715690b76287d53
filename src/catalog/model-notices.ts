import { pricesAt, type Prices } from '../core/money/price.ts'
import type { Catalog } from '../core/model.ts'
import { successorOf } from './names.ts'

const noticeMs = 30 * 86_400_000
const sentencesMax = 20
type Named = {
  aliases: object
  routes: object
  defaultImageModel: string
  defaultToolImageModel: string
}
/** Ids of models that were called lately, and that keys name. */
type Used = { called: readonly string[]; ofKeys: readonly string[] }
type Notice = { id: string; atMs: number; retires: boolean; text: string }

/**
 * When models in use retire, and a sentence for each that retires or changes its price within 30 days, or did so at
 * most 30 days ago. A model that was called has retired at any time: a newer catalog may say so late.
 */
export function modelNotices(catalog: Catalog, settings: Named, used: Used, nowMs: number) {
  const { aliases, routes, defaultImageModel, defaultToolImageModel } = settings
  const names = [
    ...Object.values(aliases),
    ...Object.keys(routes),
    defaultImageModel,
    defaultToolImageModel,
    ...used.called,
    ...used.ofKeys,
  ]
  const ids = new Set(names.map((name) => catalog.get(name)?.row.id ?? ''))
  const called = new Set(used.called)
  const notices = [...ids]
    .flatMap((id) => noticesOf(catalog, id, nowMs))
    .filter(({ id, atMs, retires }) => atMs > nowMs - noticeMs || (retires && called.has(id)))
    .sort((a, b) => a.atMs - b.atMs)
  const near = notices.filter(({ atMs }) => atMs <= nowMs + noticeMs).map(({ text }) => text)
  const more = near.length - sentencesMax
  return {
    retirements: notices.filter(({ retires }) => retires),
    sentences: more > 0 ? [...near.slice(0, sentencesMax), `${more} more models change.`] : near,
  }
}

function noticesOf({ get }: Catalog, id: string, nowMs: number): Notice[] {
  const model = get(id)
  if (model === undefined) return []
  const { deactivated_at: end, successor } = model.row
  const next = get(successor ?? successorOf(id) ?? '')
  const changes = model.prices.changes.map(({ fromMs: atMs, prices }) => {
    const date = new Date(atMs).toISOString().slice(0, 10)
    const text = `${id} costs ${ratioText(pricesAt(model.prices, atMs - 1), prices)} from ${date} on.`
    return { id, atMs, retires: false, text }
  })
  if (end === undefined) return changes
  const atMs = Date.parse(end)
  const retires = `${id} ${atMs > nowMs ? 'retires' : 'retired'} on ${end}; its calls`
  const ratio = next && ratioText(pricesAt(model.prices, atMs - 1), pricesAt(next.prices, atMs))
  const costs = next && `${next.row.id}, which costs ${ratio}`
  const then = successor === undefined ? 'are refused from then on' : `go to ${costs}`
  const hint = successor === undefined && next ? ` Use ${costs}.` : ''
  return [...changes, { id, atMs, retires: true, text: `${retires} ${then}.${hint}` }]
}

const comparedOf = ({ tokens, perImage }: Prices) => ({
  input: tokens?.input,
  output: tokens?.output,
  'output of pictures': tokens?.imageOutput,
  pictures: perImage[0]?.nanoUsd,
})

const once = '1 times as much'

/** How many times as much the later prices are, for each use whose prices can be compared. */
function ratioText(before: Prices, after: Prices): string {
  const later: Record<string, number | bigint | null | undefined> = comparedOf(after)
  const ratios = Object.entries(comparedOf(before)).flatMap(([name, price]) => {
    const ratio = Number((Number(later[name]) / Number(price)).toPrecision(3))
    return ratio > 0 && ratio < Infinity ? [{ name, times: `${ratio} times as much` }] : []
  })
  const [first, ...others] = new Set(ratios.map(({ times }) => times))
  if (first === undefined) return 'something that cannot be compared'
  if (others.length > 0)
    return ratios
      .filter(({ times }) => times !== once)
      .map(({ name, times }) => `${times} for ${name}`)
      .join(', ')
  return first === once ? 'the same' : first
}
