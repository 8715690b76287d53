import { markup, type Html } from './html.ts'

/** Why what was sent is not taken, and the field that it is about. */
export type Problem = { message: string; field?: string | undefined }

type Field = {
  name: string
  label: string
  /** Attributes that are the same for everybody. */
  input: Html
  value?: string | undefined
  hint?: string
  problem?: Problem | undefined
}

/** A labelled field with its hint, and what is wrong with it where it is the one. */
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

/** What is wrong with no field alone. */
export function alertOf(problem: Problem | undefined, fields: readonly string[]): Html | undefined {
  if (problem === undefined || (problem.field && fields.includes(problem.field))) return undefined
  return markup`<p class="alert" role="alert" tabindex="-1" autofocus>${problem.message}</p>\n`
}

/** What ties a form to its interaction and to who looks at it. */
export type FormBinding = { path: string; token: string }

/** A form that is sent back to its page. */
export function formOf({ path, token }: FormBinding, content: Html): Html {
  return markup`<form method="post" action="${path}">
<input type="hidden" name="csrf_token" value="${token}">
${content}
</form>`
}
