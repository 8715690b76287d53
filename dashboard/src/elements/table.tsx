import type { ComponentChildren } from 'preact'

type Column =
  | string
  | {
      title: ComponentChildren
      class?: string | undefined
      'aria-sort'?: 'ascending' | 'descending' | undefined
    }

type Props = {
  /** Label for screen readers. */
  label: string
  columns: readonly Column[]
  class?: string
  caption?: string
  /** Rows of the footer. */
  foot?: ComponentChildren
  children: ComponentChildren
}

/** A table; when it is wider than the page, it scrolls within its own box. */
export function Table({ label, columns, class: name, caption, foot, children }: Props) {
  return (
    <div class="table" tabIndex={0} role="region" aria-label={label}>
      <table class={name}>
        {caption !== undefined && <caption>{caption}</caption>}
        <thead>
          <tr>
            {columns.map((column, index) => {
              const { title, ...attributes } = columnOf(column)
              return (
                <th key={index} scope="col" {...attributes}>
                  {title}
                </th>
              )
            })}
          </tr>
        </thead>
        <tbody>{children}</tbody>
        {foot !== undefined && <tfoot>{foot}</tfoot>}
      </table>
    </div>
  )
}

function columnOf(column: Column): Exclude<Column, string> {
  return typeof column === 'string' ? { title: column } : column
}

/** A column of right-aligned numbers. */
export function numbers(title: string): Column {
  return { title, class: 'number' }
}

/** The column of buttons in each row. */
export const acts: Column = { title: <span class="hidden">Actions</span> }
