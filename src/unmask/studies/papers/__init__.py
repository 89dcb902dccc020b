"""The papers, table by table: published and measured side by side."""
