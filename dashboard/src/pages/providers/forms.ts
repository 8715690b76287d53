import { bodyOf, POST, PUT, Refusal } from '../../data/api.ts'
import { changeSettings, type Server } from './change-settings.ts'
import type { Entry, EntryField } from './entry-form.tsx'
import type { Provider } from './state.tsx'

/** The id of the list of models that the page suggests. */
export const modelsId = 'known-models'

/** The form of an OpenAI-compatible server; a new one without `server`. */
export function serverForm(server?: Server): Entry {
  const names = server === undefined || server.models === '*' ? [] : [server.models].flat()
  const added: EntryField[] = [
    {
      name: 'id',
      label: 'Name',
      hint: 'Lowercase letters, digits and -. Its models are called name/model.',
      words: /\.id\b|\bid\b.*(?:used|reserved|vendor|is the id)/,
      required: true,
    },
  ]
  const key: EntryField = {
    name: 'key',
    label: 'API key',
    hint: 'It is tested, and stored encrypted. Empty for a server without keys.',
    isSecret: true,
  }
  return {
    title: server === undefined ? 'Add a server' : `Change ${server.id}`,
    fields: [
      ...(server === undefined ? added : []),
      {
        name: 'base_url',
        label: 'Address',
        hint: 'With the version, such as https://example.com/v1.',
        words: /base_url/,
        required: true,
        value: server?.base_url,
      },
      {
        name: 'models',
        label: 'Models',
        hint: 'One name a line. Empty for all models of the server.',
        words: /models/,
        rows: 3,
        value: names.join('\n'),
      },
      ...(server === undefined ? [key] : []),
    ],
    save: async ({ id = server?.id ?? '', base_url: address = '', models = '', key: secret }) => {
      const listed = models.split(/[\s,]+/).filter(Boolean)
      await store({ id, base_url: address.trim(), models: listed.length === 0 ? '*' : listed })
      if (secret !== undefined) await storeKey(id, secret)
      return `The server ${id} is stored, and calls use it.`
    },
  }
}

function store({ id, base_url: address, models }: Server): Promise<void> {
  return changeSettings(({ providers }) => {
    const servers = providers ?? []
    const at = servers.findIndex((one) => one.id === id)
    if (at < 0) {
      const added = { id, kind: 'openai-compatible', base_url: address, models }
      return [[['providers', servers.length], added]]
    }
    return [
      [['providers', at, 'base_url'], address],
      [['providers', at, 'models'], models],
    ]
  })
}

async function storeKey(id: string, key: string): Promise<void> {
  const init = { params: { path: { provider_id: id } }, body: { key } }
  await bodyOf(POST('/api/providers/{provider_id}/keys', init)).catch((error: unknown) => {
    if (!(error instanceof Refusal)) throw error
    const text = `The server is stored, its key is not. ${error.message}`
    throw new Refusal(text, { status: error.status, code: error.code, param: 'key' })
  })
}

const modelField = { name: 'model', label: 'Model', required: true, list: modelsId }

/** The form of an alias; a new one without `alias`. */
export function aliasForm(alias?: string, model?: string): Entry {
  const name = { name: 'alias', label: 'Alias', required: true }
  const hint = 'A model of the catalog, or name/model of a server.'
  return {
    title: alias === undefined ? 'Add an alias' : `Change ${alias}`,
    fields: [
      ...(alias === undefined ? [{ ...name, hint: 'The name that calls use.' }] : []),
      { ...modelField, hint, words: /aliases/, value: model },
    ],
    save: async ({ alias: added = alias ?? '', model: target = '' }) => {
      await changeSettings(() => [[['aliases', added.trim()], target.trim()]])
      return `${added} now means ${target}.`
    },
  }
}

/** The form of a route through these providers, the preferred one first; a new one without `model`. */
export function routeForm(
  providers: readonly Provider[],
  model?: string,
  route: readonly string[] = [''],
): Entry {
  const known = providers.map(({ id, name, is_configured: isConfigured }) => {
    return [id, isConfigured ? name : `${name} (no key)`] as const
  })
  const steps = Array.from({ length: route.length + 2 }, (_, at): EntryField => {
    const step = route[at] ?? ''
    const nothing = at === 0 ? 'Choose a provider' : 'none'
    // A route may name the model at the provider: `provider/model there`.
    const own = known.some(([id]) => id === step) ? [] : [[step, step || nothing] as const]
    const none = step === '' ? [] : [['', 'none'] as const]
    const choices = [...own, ...none, ...known]
    const label = at === 0 ? 'First' : `Fallback ${at}`
    return { name: `step${at}`, label, choices, value: step, required: at === 0 }
  })
  const hint = 'The route replaces that of the catalog.'
  return {
    title: model === undefined ? 'Add a route' : `Route of ${model}`,
    fields: [...(model === undefined ? [{ ...modelField, hint, words: /routes/ }] : []), ...steps],
    save: async ({ model: name = model ?? '', ...filled }) => {
      const list = steps.flatMap((step) => filled[step.name] ?? [])
      await changeSettings(() => [[['routes', name.trim()], list]])
      return `${name} goes to ${list.join(', then ')}.`
    },
  }
}

/** The form of all stored settings as YAML. */
export function yamlForm(stored: string): Entry {
  const hint = 'The members providers, routes, aliases and catalog (prices) of gateway.yaml.'
  const label = 'Settings as YAML'
  return {
    title: 'Edit as YAML',
    fields: [{ name: 'content', label, hint, words: /./, rows: 14, value: stored }],
    save: async ({ content = '' }) => {
      await bodyOf(PUT('/api/settings', { body: { content } }))
      return 'The settings are stored, and calls use them.'
    },
  }
}
