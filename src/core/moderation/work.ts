import { deliverWhole, tryRoutes, type Answered, type Work } from '../call.ts'
import type { Whole } from '../receipt.ts'
import { makesModerations, type CallInputs } from '../model.ts'
import { noUsage } from '../money/price.ts'
import { noAdapter, type Readiness, type Route } from '../route.ts'
import type { ModerationInput, ModerationRequest, ModerationResult } from './moderation.ts'

/** The classification of texts and pictures, answered in one piece. Vendors count no tokens of it. */
export function moderationWork(
  { request, models }: CallInputs<ModerationRequest>,
  timeoutMs: number,
): Work<Whole<ModerationResult>, Answered<ModerationResult>> {
  const { input } = request
  return {
    modality: 'moderation',
    models,
    timeoutMs,
    warnings: [],
    prompt: () => promptOf(input),
    demand: { images: 0, tokens: () => ({ certain: 0, assumed: 0 }) },
    check: checkModeration,
    upperUsage: () => noUsage,
    canonical: () => request,
    isShared: true,
    make: async (call, selection) => {
      const { value, route } = await tryRoutes(call, selection, (target, turn) =>
        // `checkModeration` has excluded providers without an adapter.
        target.provider.moderation!.moderate({ input, target, turn }),
      )
      const { results, ...served } = value
      const bytes = results.length * resultBytes
      return { route, usage: noUsage, result: { results }, bytes, warnings: [], ...served }
    },
    deliver: (whole, delivery) => deliverWhole(whole, delivery, (result) => result),
    // Only `deliver` writes under the cache key of a moderation.
    replay: ({ result, usage }, receipt) => ({
      result: result as ModerationResult,
      usage,
      receipt,
    }),
  }
}

/** Roughly the memory of the thirteen categories of a result. */
const resultBytes = 4096

function promptOf(input: ModerationInput): string {
  if (typeof input === 'string') return input
  return input
    .map((one) => (typeof one === 'string' ? one : one.type === 'text' ? one.text : ''))
    .join('\n')
}

function checkModeration(route: Route): Readiness {
  const { model, provider } = route
  if (!model.undescribed && !makesModerations(model)) {
    const message = `${model.row.id} is not a moderation model. Leave 'model' out.`
    return { problems: [{ param: 'model', message }], warnings: [] }
  }
  const isAble = provider.moderation !== undefined
  return { problems: isAble ? [] : [noAdapter(route, 'moderations')], warnings: [] }
}
