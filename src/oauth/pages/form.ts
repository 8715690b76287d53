import { GatewayError } from '../../core/error.ts'
import { markup, type Html } from './html.ts'

/** The reason why a form was refused, and the wrong field. */
export type Problem = { message: string; field?: string | undefined }

type Field = {
  name: string
  label: string
  /** Constant attributes of the `input` element. */
  input: Html
  value?: string | undefined
  hint?: string
  problem?: Problem | undefined
}

/** A labelled field with its hint, and its problem if it has one. */
export function fieldOf({ name, label, input, value, hint, problem }: Field): Html {
  const wrong = problem?.field === name ? problem.message : undefined
  const notes = [
    ...(hint === undefined ? [] : [`${name}-hint`]),
    ...(wrong === undefined ? [] : [`${name}-wrong`]),
  ]
  const described = notes.length === 0 ? undefined : markup` aria-describedby="${notes.join(' ')}"`
  const marked = wrong === undefined ? undefined : markup` aria-invalid="true" autofocus`
  const filled = value === undefined ? undefined : markup` value="${value}"`
  return markup`<div class="field">
<label for="${name}">${label}</label>
<input id="${name}" name="${name}" ${input}${filled}${described}${marked}>
${noteOf(`${name}-hint`, 'hint', hint)}${noteOf(`${name}-wrong`, 'wrong', wrong)}</div>`
}

function noteOf(id: string, look: 'hint' | 'wrong', text: string | undefined): Html | undefined {
  return text === undefined ? undefined : markup`<p class="${look}" id="${id}">${text}</p>\n`
}

/** Shows a problem above the form, unless it belongs to one of these fields. */
export function alertOf(problem: Problem | undefined, fields: readonly string[]): Html | undefined {
  if (problem === undefined || (problem.field && fields.includes(problem.field))) return undefined
  return markup`<p class="alert" role="alert" tabindex="-1" autofocus>${problem.message}</p>\n`
}

/** Binds a form to its interaction and viewer. */
export type FormBinding = { path: string; token: string }

/** A form that is posted to its own page. */
export function formOf({ path, token }: FormBinding, content: Html): Html {
  return markup`<form method="post" action="${path}">
<input type="hidden" name="csrf_token" value="${token}">
${content}
</form>`
}

/** The fields of a submitted form; each occurs once. */
export type FormBody = ReadonlyMap<string, string>

/** Parses a form; the router limits its size. Throws `invalid_value`. */
export function readFormBody(body: Buffer): FormBody {
  const fields = new Map<string, string>()
  for (const [name, value] of new URLSearchParams(body.toString('utf8'))) {
    if (fields.has(name)) {
      const param = name.slice(0, 50)
      throw new GatewayError('invalid_value', `The field '${param}' occurs twice. Send it once.`, {
        param,
      })
    }
    fields.set(name, value)
  }
  return fields
}
