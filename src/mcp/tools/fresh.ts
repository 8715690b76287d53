import type { CallContext } from '../../core/caller.ts'

/** The context of a call that wants another answer than the remembered one; it is remembered next. */
export function freshly(context: CallContext, isFresh: boolean): CallContext {
  return isFresh ? { ...context, cache: { ...context.cache, recall: false } } : context
}
