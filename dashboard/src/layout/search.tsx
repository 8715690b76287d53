import { useState } from 'preact/hooks'
import { bodyOf, GET, type Schemas } from '../data/api.ts'
import { afterTyping, modelNamed, pathOf } from '../data/catalog.ts'
import { useLoad, type Loaded } from '../data/load.ts'
import type { ListPage } from '../data/pages.ts'
import { accountQuery, isFor, isOperator } from '../data/session.ts'
import { matches, SearchList, type Option } from '../elements/search-list.tsx'
import { groups, pages } from '../pages/index.ts'
import { acts, deeds, pageWords, parts, type Place } from './places.ts'
import { requestIdIn } from './request-id.ts'

/** What a search finds: an address below the dashboard, or something to do. */
export type Finding = Option & { path?: string; run?: () => void }

/** Number of findings listed of each group. */
const groupMax = 8
/** Number of pages of a list that are read; a longer list of keys is searched by the gateway. */
const pagesMax = 5
const pageRows = 100

/** Finds pages and their parts, actions, models, keys, people, providers and requests, as far as the person may see them. */
export function Search({ onPick }: { onPick: (finding: Finding) => void }) {
  const [text, setText] = useState('')
  const models = useLoad('models', (signal) =>
    bodyOf(GET('/api/models', { params: { query: accountQuery() }, signal })),
  )
  const [hasKeys, hasPeople] = [mayOpen('/keys'), mayOpen('/settings')]
  const keys = useLoad(`keys ${hasKeys}`, (signal) => (hasKeys ? keysWith({}, signal) : noKeys))
  const people = useLoad(`people ${hasPeople}`, (signal) =>
    hasPeople ? members(signal) : noMembers,
  )
  const known = [
    ...requestIn(text),
    ...placesFor(text),
    ...modelsOf(models.data?.data ?? []),
    ...(keys.data?.all ?? []).map(keyFinding),
    ...(people.data?.all ?? []).map(personFinding),
    ...providersOf(models.data?.data ?? []),
  ]
  // Only the gateway knows all names of models: snapshots, prefixes and spellings.
  const isName =
    models.data !== undefined &&
    /^[\w./:@-]{3,200}$/.test(text) &&
    !known.some((one) => matches(one, text))
  const named = useLoad(isName ? `model ${text}` : '', (signal) =>
    isName ? modelNamed(text, signal) : Promise.resolve([]),
  )
  const isPartly = text !== '' && keys.data?.isWhole === false
  const moreKeys = useLoad(isPartly ? `keys ${text}` : '', async (signal) => {
    if (!isPartly) return noKeys
    await afterTyping(signal)
    return keysWith({ name: text.slice(0, 100) }, signal)
  })
  const ids = new Set(known.map(({ id }) => id))
  const more = (moreKeys.data?.all ?? []).map(keyFinding).filter(({ id }) => !ids.has(id))
  const all = [...known, ...modelsOf(named.data ?? [], text), ...more]
  const loads: readonly (Loaded<unknown> & { of: string })[] = [
    { ...models, of: 'Models' },
    { ...keys, of: 'Keys' },
    { ...people, of: 'People' },
  ]
  return (
    <>
      <SearchList
        label="Search"
        placeholder="A page, model, key, person, request id…"
        options={all}
        groupMax={groupMax}
        isLoading={[...loads, named, moreKeys].some(({ data, error }) => !data && !error)}
        onText={setText}
        onPick={onPick}
      />
      {loads.map(
        ({ of, error }) =>
          error !== undefined && (
            <p key={of} class="fault" role="status">
              {of} are not searched: {error.message}
            </p>
          ),
      )}
    </>
  )
}

function mayOpen(path: string): boolean {
  return pages.some((page) => page.path === path && isFor(page.for))
}

function requestIn(text: string): Finding[] {
  const id = requestIdIn(text)
  if (id === undefined) return []
  const path = `/requests/${id}`
  return [{ id: path, path, text: `Request ${id}`, words: text, group: 'Requests' }]
}

/** Pages and actions; with a text also the parts of pages. */
function placesFor(text: string): Finding[] {
  const seen = pages.filter((page) => isFor(page.for))
  const titles = new Map(seen.map(({ path, title }) => [path, title]))
  const findingOf = ({ page, title, path, words }: Place, group: string): Finding[] => {
    const of = titles.get(page)
    if (of === undefined) return []
    const isAct = group === 'Actions'
    const id = `${group} ${title} ${path}`
    return [
      {
        id,
        path,
        words,
        group,
        text: isAct ? title : `${of} › ${title}`,
        ...(isAct && { hint: of }),
      },
    ]
  }
  return [
    ...seen.map(({ path, title, group }) => ({
      id: path,
      path,
      text: title,
      hint: group && groups[group],
      words: pageWords[path],
      group: 'Pages',
    })),
    ...(text === '' ? [] : parts.flatMap((part) => findingOf(part, 'Parts of pages'))),
    ...acts.flatMap((act) => findingOf(act, 'Actions')),
    ...deeds.map(({ title, ...deed }) => ({ id: title, text: title, group: 'Actions', ...deed })),
  ]
}

/** Findings of models; those that the gateway found by a name are found by that name. */
function modelsOf(entries: readonly Schemas['CatalogEntry'][], name = ''): Finding[] {
  return entries.map(({ model: { id, name: title, family, aliases, status }, routes }) => ({
    id: name === '' ? id : `${id} by name`,
    path: pathOf(id),
    text: title,
    hint: status === 'active' ? id : `${id}, ${status}`,
    words: [
      name,
      family,
      ...(aliases ?? []),
      ...routes.flatMap((one) => [one.provider_name, one.upstream_model]),
    ].join(' '),
    group: 'Models',
  }))
}

/** Each provider of the models: for operators its page, for others the models that it has. */
function providersOf(entries: readonly Schemas['CatalogEntry'][]): Finding[] {
  const routes = entries.flatMap((entry) => entry.routes)
  const names = new Map(routes.map((route) => [route.provider, route]))
  return [...names].map(([id, { provider_name: text, is_configured: isConfigured }]) => ({
    id: `provider ${id}`,
    path: (isOperator.value ? '/providers/' : '/models?provider=') + encodeURIComponent(id),
    text,
    hint: isConfigured ? id : `${id}, not configured`,
    group: 'Providers',
  }))
}

type Key = Schemas['ApiKey']

function keyFinding({ id, name, hint, state, created_by: by }: Key): Finding {
  const about = state === 'active' ? hint : `${hint}, ${state}`
  return { id, path: `/keys/${id}`, text: name, hint: about, words: by ?? '', group: 'API keys' }
}

function personFinding({ id, name, email }: Schemas['Member']): Finding {
  return { id, path: '/settings/members', text: name, hint: email, group: 'People' }
}

type Listed<T> = { all: readonly T[]; isWhole: boolean }

const noKeys = Promise.resolve<Listed<Key>>({ all: [], isWhole: true })
const noMembers = Promise.resolve<Listed<Schemas['Member']>>({ all: [], isWhole: true })

function keysWith(filter: { name?: string }, signal: AbortSignal): Promise<Listed<Key>> {
  return listOf((page) => {
    const query = { ...accountQuery(), kind: 'key', ...filter, ...page } as const
    return bodyOf(GET('/api/keys', { params: { query }, signal }))
  })
}

function members(signal: AbortSignal): Promise<Listed<Schemas['Member']>> {
  return listOf((page) =>
    bodyOf(GET('/api/members', { params: { query: { ...accountQuery(), ...page } }, signal })),
  )
}

/** The items of a list, up to `pagesMax` pages. */
async function listOf<T>(
  ask: (page: { limit: number; cursor?: string }) => Promise<ListPage<T>>,
): Promise<Listed<T>> {
  const all: T[] = []
  let cursor: string | undefined
  for (let page = 0; page < pagesMax; page++) {
    const answer = await ask({ limit: pageRows, ...(cursor === undefined ? {} : { cursor }) })
    all.push(...answer.data)
    cursor = answer.next_cursor ?? undefined
    if (cursor === undefined) return { all, isWhole: true }
  }
  return { all, isWhole: false }
}
